//! E0502: a product whose output is one of its inputs, so that some programs would read what others have overwritten.

use cutile::prelude::*;
use tile::products::products;

fn main() -> Result<(), Error> {
    let a = api::zeros::<f32>(&[256, 256]).sync()?;
    let mut c = api::zeros::<f32>(&[256, 256]).sync()?;
    products::product((&mut c).partition([128, 64]), &a, &c)
        .generics(["f32", "128", "64", "16"].map(String::from).to_vec())
        .sync()?;
    Ok(())
}
