//! What this chapter measures, and what is drawn and tabled of it.

pub mod command;
pub mod experiments;
pub mod figures;

use lab::Chapter;

/// This chapter's experiments, figures and tables.
pub fn chapter() -> Chapter {
    Chapter {
        number: 4,
        name: "training",
        title: "Training",
        experiments: experiments::experiments(),
        figures: figures::figures(),
        tables: vec![],
    }
}
