//! E0277: an output that was not split, so that all programs would write all of it.

use cutile::prelude::*;
use tile::products::products;

fn main() -> Result<(), Error> {
    let a = api::zeros::<f32>(&[256, 256]).sync()?;
    let b = api::zeros::<f32>(&[256, 256]).sync()?;
    let mut c = api::zeros::<f32>(&[256, 256]).sync()?;
    let launch = products::product(&mut c, &a, &b);
    launch.sync()?;
    Ok(())
}
