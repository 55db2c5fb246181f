//! x
pub fn figures() -> Vec<lab::Figure> {
    vec![]
}
pub fn tables() -> Vec<lab::Table> {
    vec![]
}
