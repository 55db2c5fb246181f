//! The training step on many devices: chapter 7's ways to split a batch or a model, on this model, each equal to one device.
//!
//! All ranks draw the same batch, from the settings' seed and the step's number, and so need no message to know it. What
//! they tell each other is gradients, activations or parameters, by chapter 7's collective operations.
//!
//! 1. [`course`]: what all ranks know alike; [`split`]: what each of them does.
//! 2. [`data`]: each rank a part of the batch. [`replicas`] runs it for the command, on threads.
//! 3. [`zero`]: as `data`, and each rank keeps a part of the optimizer's memory.
//! 4. [`cut`]: which heads, hidden units and layers are a rank's; [`piece`]: its passes.
//! 5. [`tensor`]: heads and hidden units cut over ranks.
//! 6. [`pipeline`]: layers cut over ranks, and the batch in micro-batches.
//! 7. [`how`]: all of them by name, run on threads.

pub mod course;
pub mod cut;
pub mod data;
pub mod how;
pub mod piece;
pub mod pipeline;
pub mod replicas;
pub mod split;
pub mod tensor;
pub mod zero;

pub use course::Course;
pub use how::How;
pub use replicas::Replicas;
pub use split::Split;
