//! Training: batches from a long stream of tokens, a step, and the loop around it.
//!
//! 0. [`settings`]: what a run can be told.
//! 1. [`batches`]: windows of the stream, drawn by a seed and the step's number.
//! 2. [`clip`]: how far the gradient's norm may reach.
//! 3. [`schedule`]: the learning rate, which warms up and falls.
//! 4. [`adamw`]: the update, whose decay is no part of the gradient.
//! 5. [`trainer`]: a step of all these.
//! 6. [`run`](mod@run): the loop, and who is told about it.
//! 7. [`validation`]: the loss on text that it does not learn from.

pub mod adamw;
pub mod batches;
pub mod clip;
pub mod run;
pub mod schedule;
pub mod settings;
pub mod trainer;
pub mod validation;

pub use run::{Backend, Flow, Reporter, Silent, run};
pub use settings::Settings;
pub use trainer::{Step, Trainer};
