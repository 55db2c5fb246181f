//! What a step must keep, by chapter 3's counter: no copies, and no gradient longer than it is needed.

use crate::{Error, Result};
use backprop::{
    count::{Counts, Layer, Model},
    fits::{Bytes, Moves},
};

/// Chapter 3's count of a model, for a batch that is not empty.
fn counted(model: &Model, batch: u64) -> Result<Counts> {
    if batch == 0 {
        return Err(Error::Config("a batch needs at least one image".to_owned()));
    }
    model.count().map_err(|e| Error::Config(e.to_string()))
}

/// What a step on a batch must keep.
///
/// # Errors
/// [`Error::Config`] if the model can't be.
pub fn least(model: &Model, batch: u64, moves: Moves) -> Result<Bytes> {
    let counts = counted(model, batch)?;
    Ok(Bytes::of(&counts, batch, moves))
}

/// Chapter 4's convolutional network, described.
pub fn cnn() -> Model {
    let conv = |channels, padding| Layer::Conv { channels, size: 5, stride: 1, padding };
    Model {
        name: "cnn".to_owned(),
        input: vec![1, 28, 28],
        layers: vec![
            conv(16, 2),
            Layer::Relu,
            Layer::Pool { size: 2 },
            conv(32, 0),
            Layer::Relu,
            Layer::Pool { size: 2 },
            Layer::Flatten,
            Layer::Dense { units: 128 },
            Layer::Relu,
            Layer::Dropout { rate: 0.2 },
            Layer::Dense { units: 10 },
        ],
    }
}

/// Chapter 4's network of two dense layers, described.
///
/// # Errors
/// None: the name is known.
pub fn mlp() -> Result<Model> {
    Model::named("mlp").map_err(|e| Error::Config(e.to_string()))
}
