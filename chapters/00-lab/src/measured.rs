//! What this chapter measures: the model for all chapters. Its pages declare the figures and tables.

pub mod experiments;

use crate::Chapter;

/// Chapter 0, for the course's command and its book.
pub fn chapter() -> Chapter {
    Chapter { experiments: experiments::experiments(), ..Chapter::of(0, "lab", "The lab", []) }
}
