//! What single directives become, each in a file that knows nothing of the others.
//!
//! [`diagram`], [`exercise`], [`kernel`], [`map`], [`term`], and the lists of [`index`]. Records are in
//! [`crate::quote`], quotes from files in [`mod@crate::include`].

pub mod diagram;
pub mod exercise;
pub mod index;
pub mod kernel;
pub mod map;
pub mod sections;
pub mod term;
