//! The training step on many devices: each of chapter 7's ways to split is a setting of its one engine, equal to one device.
//!
//! All ranks draw the same batch, from the settings' seed and the step's number, and so need no message to know it; in a
//! user's run rank 0 has the text and tells the others. What they tell each other is gradients, activations or parameters, by chapter 7's collective operations.
//!
//! 1. [`gpt`]: how this model is cut over ranks.
//! 2. [`rank`]: a rank's step.
//! 3. [`how`]: the ways by name, run on threads.
//! 4. [`replicas`]: the batch split over threads or processes, on cores or on GPUs, for the command.

pub mod gpt;
pub mod how;
pub mod rank;
pub mod replicas;

pub use how::How;
pub use rank::Rank;
pub use replicas::Replicas;
