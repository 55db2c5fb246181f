//! E0499: two outputs that are the same memory.

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    pub fn both(
        x: &mut Tensor<f32, { [128] }>,
        y: &mut Tensor<f32, { [128] }>,
        a: &Tensor<f32, { [-1] }>,
    ) {
        let tile = a.load_like(x);
        x.store(tile);
        y.store(tile + tile);
    }
}

fn main() -> Result<(), Error> {
    let a = api::ones::<f32>(&[1024]).sync()?;
    let mut c = api::zeros::<f32>(&[1024]).sync()?;
    kernels::both((&mut c).partition([128]), (&mut c).partition([128]), &a).sync()?;
    Ok(())
}
