//! Binds the pages, the records and the crates into the book and the notebooks.
//!
//! A page is Markdown in `book/src`. It quotes code (`{{#include …:anchor}}`), records
//! (`{{#measure KEY}}`, `{{#figure KEY}}`, `{{#table KEY}}`), exercises and sources. [`Binder`] expands
//! these, once for HTML and once for notebooks. The modules in the order of the work:
//!
//! 1. [`binder`]: from the repository to the book.
//! 2. [`expand`]: what a page's directives become; [`mod@include`], [`quote`], [`diagram`], [`kernel`],
//!    [`exercise_box`], [`cells`], [`maths`], [`sources`], [`route`], [`map`] and [`index`] make one kind
//!    each, [`html`] escapes.
//! 3. [`theme`]: stock mdBook, changed a little; [`warnings`]: what mdBook logs is an error here.
//! 4. [`docs`]: the crates' documentation beside the pages; [`aside`]: contributed
//!    machines' numbers, which a page loads when they are asked for. [`serve`]: the book on this machine alone.
//! 5. [`links`]: the finished book is whole; [`typed`]: numbers in prose have a source.
//! 6. [`notebook`] and [`jupyter`]: pages that run. [`exercises`]: what is solved.

pub mod aside;
pub mod binder;
pub mod cells;
pub mod diagram;
pub mod docs;
pub mod exercise_box;
pub mod exercises;
pub mod expand;
pub mod html;
pub mod include;
pub mod index;
pub mod jupyter;
pub mod kernel;
pub mod links;
pub mod map;
pub mod maths;
pub mod notebook;
pub mod quote;
pub mod route;
pub mod serve;
pub mod sources;
pub mod theme;
pub mod typed;
pub mod warnings;

pub use binder::{Binder, Page};
