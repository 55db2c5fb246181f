//! Records on a page: numbers, figures and tables, one for each machine, and the pages that list them.
//!
//! `quotes`: what each machine has; [`number`], [`figure`]: how it reads on a page; [`machine`]: what a machine is
//! called, and where its page is; [`machine_page`]: that page.

pub mod figure;
pub mod machine;
pub mod machine_page;
pub mod number;
mod panics;
mod quotes;

pub use quotes::{Quotes, owner};
