//! Feeding the trainer: in what form images wait, how they come from disk in a random order, and who makes the next
//! batch while this one is trained on.
//!
//! 1. [`decode`]: once, or once per batch.
//! 2. [`store`]: a data set on disk, in blocks with check sums.
//! 3. [`stream`]: an epoch of it, shuffled in little memory.
//! 4. [`mod@prefetch`]: the next batch during this one.
//! 5. [`pieces`]: how large a piece to send; [`gpu`]: the same to a GPU.

pub mod decode;
pub mod gpu;
pub mod pieces;
pub mod prefetch;
pub mod store;
pub mod stream;
