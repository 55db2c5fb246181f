//! From the textbook to the fast network, one change a rung. All rungs give the same weights: the tests check
//! it.

use crate::{
    Result,
    fast::{Fast, Ways},
    flat::{Flat, Habits},
    train::{Learner, Settings, Textbook},
};
use matmul::Threads;

/// One way to compute the same step.
#[derive(Clone, Copy)]
pub struct Rung {
    /// Its name in the records.
    pub key: &'static str,
    /// Its name on a page.
    pub name: &'static str,
    /// Makes a network with its first weights.
    pub learner: fn(Settings) -> Result<Box<dyn Learner>>,
}

/// A network in one buffer with these habits.
fn flat(
    settings: Settings,
    fused_adam: bool,
    keep_buffers: bool,
    threads: Threads,
) -> Result<Box<dyn Learner>> {
    let habits = Habits { fused_adam, keep_buffers, threads };
    Ok(Box::new(Flat::new(settings, habits)?))
}

/// The rungs, from the slowest way to the fastest.
pub fn ladder() -> Vec<Rung> {
    vec![
        Rung {
            key: "textbook",
            name: "textbook",
            learner: |settings| Ok(Box::new(Textbook::new(settings, true)?)),
        },
        Rung {
            key: "no_input_gradient",
            name: "no gradient for the input",
            learner: |settings| Ok(Box::new(Textbook::new(settings, false)?)),
        },
        Rung {
            key: "fused_layers",
            name: "one buffer, bias and ReLU in the product",
            learner: |settings| flat(settings, false, false, Threads::One),
        },
        Rung {
            key: "fused_adam",
            name: "Adam in one pass",
            learner: |settings| flat(settings, true, false, Threads::One),
        },
        Rung {
            key: "kept_buffers",
            name: "no allocation",
            learner: |settings| flat(settings, true, true, Threads::One),
        },
        Rung {
            key: "threads",
            name: "threads in each product",
            learner: |settings| flat(settings, true, true, Threads::All),
        },
        Rung {
            key: "own_columns",
            name: "columns for each core",
            learner: |settings| {
                let ways = Ways { update_in_cache: false, ..Ways::default() };
                Ok(Box::new(Fast::new(settings, ways)?))
            },
        },
        Rung {
            key: "update_in_cache",
            name: "update in the cache",
            learner: |settings| Ok(Box::new(Fast::new(settings, Ways::default())?)),
        },
    ]
}
