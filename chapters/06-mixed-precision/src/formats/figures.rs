//! empty
use lab::{Figure, Table};
/// The figures.
pub fn figures() -> Vec<Figure> {
    vec![]
}
/// The tables.
pub fn tables() -> Vec<Table> {
    vec![]
}
