//! Chapter 8: choosing hardware, by measured efficiency instead of peak.
//!
//! The modules in the order of the page:
//!
//! 1. [`cards`]: a dated table of accelerators, of what was measured on them and of cloud prices, each figure with its
//!    source.
//! 2. [`job`]: a training run as operations, bytes, launches and steps.
//! 3. [`calculator`]: the time, energy and money that it takes on a card, and [`buy`]: which card.
//! 4. [`power`]: joules that the machine has counted itself.
//! 5. [`readers`]: the four readers, each with a job of their own.
//! 6. [`page`]: what the page's calculator is given.
//! 7. [`measured`]: records, and the figures and tables made from them.

pub mod calculator;
pub mod cards;
pub mod job;
pub mod measured;
pub mod page;
pub mod power;
pub mod readers;

pub use calculator::{Options, Report, buy};
pub use cards::Market;
pub use job::Job;
/// What can go wrong is told as the lab tells it: each a sentence with the way out.
pub use lab::{Error, Result};
pub use measured::chapter;
pub use readers::Reader;
