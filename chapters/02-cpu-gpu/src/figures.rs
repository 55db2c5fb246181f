//! The pictures and tables of this chapter, made from records.

use lab::{Figure, Table};

/// Every picture, in the order of the page.
pub fn all() -> Vec<Figure> {
    Vec::new()
}

/// Every table, in the order of the page.
pub fn tables() -> Vec<Table> {
    Vec::new()
}
