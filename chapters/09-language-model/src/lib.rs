//! Chapter 9: a language model that writes Rust, trained on the sources of the crates that the course is built from.
//!
//! The modules in the order of the page. Text into numbers:
//!
//! - [`corpus`]: the sources of the crates, without what generators wrote and without copies.
//! - [`tokenizer`]: byte-pair encoding, trained on them.
//!
//! The transformer, counted before it is built:
//!
//! 1. [`config`]: six numbers that fix a model.
//! 2. [`layout`]: all parameters in one buffer, and where each tensor lies in it.
//! 3. [`mod@count`]: parameters, operations and bytes, and the size that a budget should train.
//! 4. [`mod@reference`]: the whole model in plain loops, to read and to test against.
//!
//! Built from scratch, and fast:
//!
//! 5. [`layers`]: each layer forward and backward, on rows and as an operation of chapter 5's engine.
//! 6. [`attention`]: a ladder from all n² scores to tiles that stay in the cache.
//! 7. [`transformer`]: the list of these operations, which the engine trains; [`mod@product`] is chapter 1's on slices.
//! 8. [`model`]: the parameters, and their file.
//! 9. [`train`]: from the first step to the last; [`runner`] makes a user's run of it.
//!
//! On a GPU: [`gpu`] trains by the engine's other backend, with the kernels of the layers. On many devices: [`devices`] splits the step over ranks, each way
//! equal to one device.
//!
//! What came of it:
//!
//! - [`scaling`]: how the loss falls with the size, from sizes that are cheap.
//! - [`mod@generate`]: text from a model, token after token, for many at once; [`mod@quantise`]: its weights in 8 bits.
//! - [`serve`]: the model over HTTP; [`mod@export`]: as a script, for a page that runs it.
//! - [`mod@evaluate`]: bits per byte, the share that parses, and what is recited.
//!
//! [`error`](mod@error) has what can go wrong, [`measured`] what the page measures and draws.

pub mod attention;
pub mod config;
pub mod corpus;
pub mod count;
pub mod devices;
pub mod error;
pub mod evaluate;
pub mod export;
pub mod generate;
pub mod gpu;
pub mod layers;
pub mod layout;
pub mod measured;
pub mod model;
pub mod product;
pub mod quantise;
pub mod reference;
pub mod runner;
pub mod scaling;
pub mod serve;
pub mod tokenizer;
pub mod train;
pub mod transformer;

pub use config::Config;
pub use error::{Error, Result};
pub use layout::Layout;
pub use measured::chapter;
pub use model::Model;
pub use tokenizer::Tokenizer;
