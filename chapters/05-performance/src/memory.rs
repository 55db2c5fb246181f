//! Out of memory, on purpose: what a step needs, predicted and measured, and what to do when that is too much.
//!
//! 1. [`meter`]: every allocation is counted.
//! 2. [`predict`]: what a step must keep, by count; what the engine takes is [`crate::learner::needs`].
//! 3. [`limit`]: what does not fit is refused, with the ways out.

pub mod limit;
pub mod meter;
pub mod predict;
