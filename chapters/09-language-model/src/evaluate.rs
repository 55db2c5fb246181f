//! Evaluation: how well a model predicts text that it has not seen, whether what it writes is Rust, and whether it recites.
//!
//! - [`mod@bits`]: bits per byte, the measure that models with different tokenizers and programs such as gzip share;
//!   [`compress`]: what those need.
//! - [`mod@samples`]: texts by the model, and by chance; [`parses`]: which of them a parser of Rust accepts.
//! - [`mod@copies`]: the longest part of a text that stands word for word in another.

pub mod bits;
pub mod compress;
pub mod copies;
pub mod parses;
pub mod samples;

pub use bits::{Bits, bits};
pub use compress::{gzip, xz};
pub use copies::{Copies, copies};
pub use parses::{Verdict, verdict};
pub use samples::{random, samples};
