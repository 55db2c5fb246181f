//! What this chapter measures, and what is drawn and tabled of it.

pub mod command;
pub mod experiments;
pub mod figures;

use lab::Chapter;

/// This chapter's experiments, figures and tables.
pub fn chapter() -> Chapter {
    let (experiments, figures) = (experiments::experiments(), figures::figures());
    Chapter { experiments, figures, ..Chapter::of(4, "training", "Training", []) }
}
