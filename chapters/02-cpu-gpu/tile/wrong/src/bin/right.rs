//! Right: a product into memory of its own. Each of the others is this, or a kernel like it, with one mistake.

use cutile::prelude::*;
use tile::products::products;

fn main() -> Result<(), Error> {
    // ANCHOR: right
    let a = api::zeros::<f32>(&[256, 256]).sync()?;
    let b = api::zeros::<f32>(&[256, 256]).sync()?;
    let mut c = api::zeros::<f32>(&[256, 256]).sync()?;
    products::product((&mut c).partition([128, 64]), &a, &b)
        .generics(["f32", "128", "64", "16"].map(String::from).to_vec())
        .sync()?;
    // ANCHOR_END: right
    Ok(())
}
