//! The engine of chapter 5: a training step is a program that is recorded once, planned, and run many times.
//!
//! An evening reads, in this order,
//!
//! 1. [`tensor`]: a name for numbers in a buffer, and [`words`] that are no numbers; [`params`]: the one flat buffer of a model.
//! 2. [`program`]: the calls of a step (products, and kernels over rows), and what each costs.
//! 3. [`record`](mod@record): how an operation writes its calls down.
//! 4. [`ops`]: the operations, a file each, forward and backward.
//! 5. [`model`]: a model is a list of operations.
//! 6. [`plan`]: which calls run as one, and where each tensor lies.
//! 7. [`backend`]: what a device does for a program; [`cpu`]: chapter 1's product, and threads that take blocks of rows through
//!    kernels, whose operands lie in `spans`.
//! 8. [`rule`]: how parameters move; [`state`] and [`step`]: gradients, update, predictions, and what a run needs to go on.
//!
//! and, on another one, the kernels on a CPU and what not every step needs:
//!
//! 9. [`sums`], [`ops::panel`], [`ops::tile`], [`ops::direct`], `ops::channels`: loops in vectors; [`philox`]: dropout's numbers;
//!    `memory` that begins where a vector does.
//! 10. [`device`]: what calls say to GPUs, whose backend is a crate of its own; [`gather`]: batches that a device makes itself.
//! 11. [`ranks`]: what a device asks of others; [`needs`]: what a step takes of memory, before it runs.

pub mod backend;
pub mod cpu;
pub mod device;
pub mod gather;
mod memory;
pub mod model;
pub mod needs;
pub mod ops;
pub mod params;
pub mod philox;
pub mod plan;
pub mod program;
pub mod ranks;
pub mod record;
pub mod rule;
mod spans;
pub mod state;
pub mod step;
pub mod sums;
pub mod tensor;
pub mod words;
