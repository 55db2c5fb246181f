//! Records on a page: numbers, figures and tables, one for each machine, and the pages that list them.
//!
//! `quotes`: what each machine has; `fences`: the figures and tables that pages declare; [`number`], [`figure`], `verdict`: how it reads on a page; [`machine`]: what a machine is
//! called, and where its page is; [`machine_page`]: that page.

mod fences;
pub mod figure;
pub mod machine;
pub mod machine_page;
pub mod number;
mod panics;
mod quotes;
mod verdict;

pub use fences::Fences;
pub use quotes::{Quotes, default_machine, owner};
