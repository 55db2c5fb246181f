//! Chapter 6: number formats with fewer bits, and how to train with them.
//!
//! The modules in the order of the page:
//!
//! 1. [`formats`]: six number formats from their bits, and where sums in them go wrong.
//! 2. [`amp`]: training in f16 with dfdx: loss scaling, master weights, and what happens without them.
//! 3. [`bf16`]: training from scratch on the matrix unit of a CPU.
//!
//! What the page measures and draws is in [`measured`].

pub mod amp;
pub mod bf16;
pub mod formats;
pub mod measured;

pub use measured::chapter;
pub use training::{Error, Result};
