//! Binds the pages, the records and the crates into the book and the notebooks.
//!
//! A page is Markdown in `book/src`. It quotes code (`{{#include …:anchor}}`), records
//! (`{{#measure KEY}}`, `{{#figure KEY}}`, `{{#table KEY}}`), exercises and sources. [`Binder`] expands
//! these, once for HTML and once for notebooks.

pub mod binder;
pub mod exercises;
pub mod jupyter;
pub mod notebook;

pub use binder::{Binder, Page};
