//! The chapter's pictures and tables.

use lab::{Figure, Table};

pub fn figures() -> Vec<Figure> {
    vec![]
}

pub fn tables() -> Vec<Table> {
    vec![]
}
