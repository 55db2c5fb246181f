//! Whether there is memory for a step, asked before the first one: who asks for too much in the middle of it is ended by the
//! system without a message.

use crate::{Config, Error, Result, train::Settings, transformer::needs};
use engine::needs::Needs;
use lab::{Unit, limits};
use matmul::parallel::available;

/// What one of so many replicas takes, of which so many share this machine.
fn replica(config: &Config, settings: &Settings, [all, here]: [usize; 2]) -> Needs {
    let batch = settings.batch.div_ceil(all.max(1));
    let threads = (available() / here.max(1)).max(1);
    needs(config, &Settings { batch, ..*settings }, threads)
}

/// Bytes of one of so many replicas, of which so many share this machine: beside a step's, those of the gradient that is on its
/// way, in buckets and in messages.
pub fn of_replica(config: &Config, settings: &Settings, ranks: [usize; 2]) -> u64 {
    let needs = replica(config, settings, ranks);
    needs.total() + 2 * needs.gradient
}

/// Bytes of all replicas on this machine, and of the trainer whose place they take.
pub fn of_replicas(config: &Config, settings: &Settings, ranks: [usize; 2]) -> u64 {
    let Needs { parameters, gradient, means, .. } = replica(config, settings, ranks);
    let trainer = parameters + gradient + means;
    (ranks[1] as u64).saturating_mul(of_replica(config, settings, ranks)).saturating_add(trainer)
}

/// Refuses what this machine has no memory for.
///
/// # Errors
/// [`Error::Config`] with what helps.
pub fn fits(bytes: u64) -> Result<()> {
    if limits::is_there(bytes) {
        return Ok(());
    }
    Err(Error::Config(format!(
        "a step needs {}, which this machine has not; take --recompute 4 or fewer --replicas, and in a new run a smaller \
         --batch, --context or --size",
        Unit::Bytes.format(bytes as f64)
    )))
}
