//! Training: batches from a long stream of tokens, a step, and the loop around it.
//!
//! 0. [`settings`]: what a run can be told.
//! 1. [`batches`]: windows of the stream, drawn by a seed and the step's number.
//! 2. [`schedule`]: the learning rate, which warms up and falls.
//! 3. [`adamw`]: the update, whose decay is no part of the gradient.
//! 4. [`trainer`]: a step of all these.
//! 5. [`run`](mod@run): the loop, and who is told about it.
//! 6. [`validation`]: the loss on text that it does not learn from.

pub mod adamw;
pub mod batches;
pub mod run;
pub mod schedule;
pub mod settings;
pub mod trainer;
pub mod validation;

pub use run::{Backend, Flow, Reporter, Silent, run};
pub use settings::Settings;
pub use trainer::{Step, Trainer};
