//! The notebooks: pages that run.
//!
//! The pages of a chapter become `notebooks/NN-name.ipynb` (nbformat 4.5). A fence marked `rust,cell` is
//! a code cell; everything else is Markdown, cut at the headings. A fence marked `rust,cell,fails` is a
//! cell that shows an error on purpose, and `rust,cell,asked` one that runs only on request: the
//! check of an exercise. What a cell printed is kept for as long as its source stays.
//!
//! `cell` and `format` are what a notebook is. `pages` makes them from pages: `cut` cuts a page into cells,
//! `links` adapts its links and images, `drawing` its drawings, `load` loads the crates. `sync` writes them, as far as
//! `made` tells them from a reader's; `ran` is the machine that executed one. `mine`: the copies that a reader works in; `start`: where a
//! reader begins; `whole`: all pages as one file.

mod cell;
mod cut;
mod drawing;
mod format;
mod links;
mod load;
mod made;
mod mine;
mod pages;
mod ran;
mod start;
mod sync;
mod whole;

pub use cell::{Cell, Kind, Runs, lines};
pub use format::Notebook;
pub use load::loads;
pub use made::joined;
pub use mine::{MINE, bring, bring_start};
pub use pages::from_pages;
pub use ran::Ran;
pub use start::{START, start};
pub use sync::{Change, of_the_pages, sync, write};
pub use whole::{WHOLE, whole};
