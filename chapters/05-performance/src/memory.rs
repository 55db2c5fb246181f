//! Out of memory, on purpose: what a step needs, predicted and measured, and what to do when that is too much.
//!
//! 1. [`meter`]: every allocation is counted.
//! 2. [`mod@step`]: a training step in its parts.
//! 3. [`predict`]: what it needs, before it runs.
//! 4. [`limit`]: what does not fit is refused, with the ways out.
//! 5. [`accumulate`]: a large batch in small pieces.
//! 6. [`mod@recompute`]: forget, and compute again.

pub mod accumulate;
pub mod limit;
pub mod meter;
pub mod predict;
pub mod recompute;
pub mod step;
