//! Whether there is memory for a step, asked before the first one: who asks for too much in the middle of it is ended by the
//! system without a message.

use crate::{Config, Error, Result, train::Settings, transformer};
use engine::needs::Needs;
use lab::{Unit, limits};
use matmul::parallel::available;

/// Bytes of one model's run on so many threads (0 for all): of a step; of the stream of so many tokens and the places of its
/// windows, which the engine copies; and of a point.
pub fn of_run(config: &Config, settings: &Settings, threads: usize, stream: usize) -> u64 {
    let step = transformer::needs(config, settings, threads).total();
    let copied = 4 * (stream + transformer::WINDOWS.max(settings.batch)) as u64;
    step + copied + of_trainers(config, settings, 0)
}

/// Bytes of so many trainers whose steps are taken elsewhere, and at most of a point of a run: of a checkpoint's numbers and its file,
/// whose buffer doubles as it grows; or of a model, a reader's two copies of it, and a piece of the text that it reads.
pub fn of_trainers(config: &Config, settings: &Settings, trainers: usize) -> u64 {
    let batch = transformer::sequences(settings.length);
    let reader = transformer::needs(config, &Settings { batch, accumulate: 1, ..*settings }, 0);
    let Needs { parameters, gradient, means, arena, scratch, .. } = reader;
    let point = (7 * gradient).max(3 * gradient + arena + scratch);
    (parameters + gradient + means) * trainers as u64 + point
}

/// Bytes of one of so many replicas, of which so many share this machine: beside a step's, those of the gradient that is on its
/// way, in buckets and in messages.
pub fn of_replica(config: &Config, settings: &Settings, [all, here]: [usize; 2]) -> u64 {
    let batch = settings.batch.div_ceil(all.max(1));
    let threads = (available() / here.max(1)).max(1);
    let needs = transformer::needs(config, &Settings { batch, ..*settings }, threads);
    needs.total() + 2 * needs.gradient
}

/// Bytes of all replicas on this machine, and of the trainer whose place they take, at a point.
pub fn of_replicas(config: &Config, settings: &Settings, ranks: [usize; 2]) -> u64 {
    let all = (ranks[1] as u64).saturating_mul(of_replica(config, settings, ranks));
    all.saturating_add(of_trainers(config, settings, 1))
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
