//! Chapter 6: number formats with fewer bits, and how to train with them.
//!
//! The modules in the order of the page:
//!
//! 1. [`formats`]: six number formats from their bits, and where sums in them go wrong.
//! 2. [`amp`]: training in f16 with dfdx: loss scaling, master weights, and what happens without them.
//! 3. [`bf16`]: training from scratch on the matrix unit of a CPU.

pub mod amp;
pub mod bf16;
pub mod formats;

pub use training::{Error, Result};

/// This chapter, for the course's command and its book.
pub fn chapter() -> lab::Chapter {
    let groups = [formats::part(), amp::part(), bf16::part()];
    let mut chapter = lab::Chapter {
        number: 6,
        name: "mixed_precision",
        title: "Mixed precision",
        experiments: Vec::new(),
        figures: Vec::new(),
        tables: Vec::new(),
    };
    for Part { experiments, figures, tables } in groups {
        chapter.experiments.extend(experiments);
        chapter.figures.extend(figures);
        chapter.tables.extend(tables);
    }
    chapter
}

/// What a part of this chapter measures and shows.
#[derive(Default)]
pub struct Part {
    /// Its experiments.
    pub experiments: Vec<lab::Experiment>,
    /// Its figures.
    pub figures: Vec<lab::Figure>,
    /// Its tables.
    pub tables: Vec<lab::Table>,
}
