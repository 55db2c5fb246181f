//! This chapter's experiments, figures and tables.

use crate::Chapter;

/// Chapter 0.
pub fn chapter() -> Chapter {
    Chapter {
        number: 0,
        name: "lab",
        title: "The lab",
        experiments: vec![],
        figures: vec![],
        tables: vec![],
    }
}
