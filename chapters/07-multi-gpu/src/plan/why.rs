//! Why a digit classifier gets slower on more cards, and a large model does not.

use super::{
    cards::Card,
    model::{self, Workload},
    published,
    simulate::{Buckets, Job, Step},
};
use crate::Result;
use backprop::fits::Moves;
use std::sync::OnceLock;

/// PyTorch's buckets.
const BUCKETS: Buckets = Buckets::Full(25.0 * 1024.0 * 1024.0);

/// A model by its name, `resnet50` among them, in mixed precision.
///
/// # Errors
/// [`crate::Error::Config`] for another name.
pub fn workload(name: &str) -> Result<Workload> {
    let mixed = model::Precision::mixed(Moves::Adam);
    Ok(match name {
        "resnet50" => Workload::of_layers(name, &model::residual([3, 4, 6, 3]), Moves::Adam),
        _ => Workload { precision: mixed, ..Workload::named(name, Moves::Adam)? },
    })
}

/// A step with a whole batch of `batch` examples over `p` H200 cards; the fullest card has as many examples as there
/// are left when all others have as many as it, or one fewer. The cards' times differ as much as those of the published
/// run on which [`published::calibrated`] fits that.
///
/// # Errors
/// As [`workload`].
pub fn step(name: &str, batch: usize, p: usize) -> Result<Step> {
    let card = Card::named("h200")?;
    let job = Job::of(&workload(name)?, &card, batch.div_ceil(p) as f64, BUCKETS);
    Ok(Job { jitter: jitter()?, ..job }.step(&card.network, p))
}

/// How much the cards' times differ, calibrated once.
fn jitter() -> Result<f64> {
    static FOUND: OnceLock<f64> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(*found);
    }
    let runs = published::runs()?;
    Ok(*FOUND.get_or_init(|| published::calibrated(&runs)))
}
