//! TODO
pub fn figures() -> Vec<lab::Figure> { Vec::new() }
pub fn tables() -> Vec<lab::Table> { Vec::new() }
