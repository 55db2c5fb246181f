//! Binds the pages, the records and the crates into the book and the notebooks.
//!
//! A page is Markdown in `book/src`. It quotes code (`{{#include …:anchor}}`), records
//! (`{{#measure KEY}}`, `{{#figure KEY}}`, `{{#table KEY}}`), exercises and sources. [`Binder`] expands
//! these, once for HTML and once for notebooks. The modules in the order of the work:
//!
//! 1. [`page`], [`html`], [`markdown`], [`picture`], [`manifest`], [`mention`], `text`, `disk`: what all of them use. [`terminal`] and
//!    [`process`]: what is printed, and programs that are run.
//! 2. [`binder`]: from the repository to the book.
//! 3. [`expand`]: a page's passes. What it quotes: [`mod@include`], [`quote`], [`directive`], [`recorded`], [`maths`] and its
//!    `arithmetic`, [`sources`].
//! 4. [`theme`]: stock mdBook, changed a little; [`warnings`]: what mdBook logs is an error here; [`paper`]: a chapter on one page.
//! 5. [`found`]: what search engines and the book's search read. [`docs`]: the crates' documentation next to the pages;
//!    [`aside`]: contributed machines' numbers, which a page loads when they are asked for. [`site`]: the book at an
//!    address; [`serve`]: on this machine alone.
//! 6. [`links`]: the finished book is whole; [`typed`]: numbers in prose have a source.
//! 7. [`notebook`] and [`jupyter`]: pages that run. [`exercises`]: what is solved.

mod arithmetic;
pub mod aside;
pub mod binder;
pub mod directive;
mod disk;
pub mod docs;
pub mod exercises;
pub mod expand;
pub mod found;
pub mod html;
pub mod include;
pub mod jupyter;
pub mod links;
pub mod manifest;
pub mod markdown;
pub mod maths;
pub mod mention;
pub mod notebook;
pub mod page;
pub mod paper;
pub mod picture;
pub mod process;
pub mod quote;
pub mod recorded;
pub mod serve;
pub mod site;
pub mod sources;
pub mod terminal;
mod text;
pub mod theme;
pub mod typed;
pub mod warnings;

pub use binder::Binder;
pub use page::Page;
