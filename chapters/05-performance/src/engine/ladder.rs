//! From stock dfdx to the fast network, one change a rung. All rungs train the same network: the tests check that they
//! are equal.

use crate::engine::{
    fast::InPlace,
    layer::Team,
    networks::{FastDeep, FastMlp, StockDeep, Ways},
    tensors::{Fused, Lie, Tensors},
};
use backprop::{
    Error, Result,
    ladder::Rung,
    train::{Learner, Settings},
};
use dfdx::prelude::Cpu;
use training::mlp::Mlp;

/// Sizes of the networks that are measured, and their names.
pub const MODELS: [(&str, &[usize]); 2] =
    [("784-128-10", &[784, 128, 10]), ("784-512-128-10", &[784, 512, 128, 10])];

/// Stock dfdx: its layers, its loss, its Adam.
///
/// # Errors
/// As [`Settings::check`]; [`Error::Config`] for sizes that are not in [`MODELS`].
pub fn stock(settings: Settings) -> Result<Box<dyn Learner>> {
    let (lie, fused) = (Lie::Turned, Fused::default());
    Ok(match settings.sizes[..] {
        [784, 128, 10] => Box::new(Tensors::<Mlp<Cpu>>::new(settings, lie, fused, |_| ())?),
        [784, 512, 128, 10] => {
            Box::new(Tensors::<StockDeep<f32, Cpu>>::new(settings, lie, fused, |_| ())?)
        }
        _ => return Err(unknown(&settings)),
    })
}

/// The last rung: the network in the store, with threads where they pay.
///
/// # Errors
/// As [`Settings::check`].
pub fn fastest(settings: Settings) -> Result<Box<dyn Learner>> {
    let team = Team::paying(&settings.sizes, settings.batch);
    Ok(Box::new(InPlace::new(settings, team)?))
}

/// A network of tensors and faster operations.
fn tensors(settings: Settings, ways: Ways, fused: Fused) -> Result<Box<dyn Learner>> {
    let lie = Lie::Straight;
    Ok(match settings.sizes[..] {
        [784, 128, 10] => {
            let change = |model: &mut FastMlp<f32, Cpu>| model.ways = ways;
            Box::new(Tensors::new(settings, lie, fused, change)?)
        }
        [784, 512, 128, 10] => {
            let change = |model: &mut FastDeep<f32, Cpu>| model.ways = ways;
            Box::new(Tensors::new(settings, lie, fused, change)?)
        }
        _ => return Err(unknown(&settings)),
    })
}

fn unknown(settings: &Settings) -> Error {
    let names = MODELS.map(|(name, _)| name).join(" and ");
    Error::Config(format!("{:?} is none of the networks of this ladder: {names}", settings.sizes))
}

/// The rungs, from the slowest way to the fastest.
pub fn ladder() -> Vec<Rung> {
    const LOSS: Fused = Fused { loss: true, update: false };
    const ALL: Fused = Fused { loss: true, update: true };
    vec![
        Rung { key: "stock", name: "stock dfdx", learner: stock },
        Rung {
            key: "product",
            name: "chapter 1's product, with bias",
            learner: |settings| tensors(settings, Ways::Product, Fused::default()),
        },
        Rung {
            key: "no_data_gradient",
            name: "no gradient of the data",
            learner: |settings| tensors(settings, Ways::NoDataGradient, Fused::default()),
        },
        Rung {
            key: "fused_layers",
            name: "layers fused",
            learner: |settings| tensors(settings, Ways::Fused, Fused::default()),
        },
        Rung {
            key: "fused_loss",
            name: "loss fused",
            learner: |settings| tensors(settings, Ways::Fused, LOSS),
        },
        Rung {
            key: "fused_update",
            name: "update fused",
            learner: |settings| tensors(settings, Ways::Fused, ALL),
        },
        Rung {
            key: "in_place",
            name: "numbers stay in place",
            learner: |settings| Ok(Box::new(InPlace::new(settings, Team::of_products())?)),
        },
        Rung { key: "threads", name: "threads where they pay", learner: fastest },
    ]
}
