//! E0597: an input that is gone before the launch has run.

use cutile::prelude::*;
use tile::products::products;

fn main() -> Result<(), Error> {
    let b = api::zeros::<f32>(&[256, 256]).sync()?;
    let mut c = api::zeros::<f32>(&[256, 256]).sync()?;
    let launch = {
        let a = api::zeros::<f32>(&[256, 256]).sync()?;
        products::product((&mut c).partition([128, 64]), &a, &b)
    };
    launch.sync()?;
    Ok(())
}
