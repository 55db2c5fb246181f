//! Chapter 5: making training fast, by measuring where the time goes first.
//!
//! The modules in the order of the page:
//!
//! 1. [`profile`]: where the time of a step goes, seen from inside the tape.
//! 2. [`engine`]: a step that is recorded once, planned, and run many times, a crate of its own. [`ladder`] has what each of its
//!    savings is worth, [`learner`] puts it behind chapter 4's training.
//! 3. [`input`]: who makes the next batch: decoding, streaming from disk, prefetching, pieces for a device.
//! 4. [`memory`]: a meter, a prediction, and what to do when a step does not fit.
//! 5. [`compare`]: models, batches and convolutions by the time to a model that reads well.
//! 6. [`gpu`]: the same step on a GPU: launches, a timeline, graphs, steps begun ahead.
//!
//! What the page measures and draws is in [`measured`].

pub mod compare;
pub mod gpu;
pub mod input;
pub mod ladder;
pub mod learner;
pub mod measured;
pub mod memory;
pub mod profile;

pub use engine;
pub use measured::chapter;
pub use training::{Error, Result};
