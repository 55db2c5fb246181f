//! What this chapter measures, one file for each question.

use crate::figures;
use lab::Chapter;

/// Chapter 2 as the course's command sees it.
pub fn chapter() -> Chapter {
    Chapter {
        number: 2,
        name: "cpu_gpu",
        title: "CPU and GPU",
        experiments: Vec::new(),
        figures: figures::all(),
        tables: figures::tables(),
    }
}
