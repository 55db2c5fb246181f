//! E0133: a program that writes its neighbour's tile, through a view of the whole tensor.

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    pub fn shift(c: &mut Tensor<f32, { [128] }>, a: &Tensor<f32, { [-1] }>) {
        let tile = a.load_like(c);
        let mut all = c.partition_full_mut(shape![128]);
        all.store(tile, [program_id(0) + 1i32]);
    }
}

fn main() {}
