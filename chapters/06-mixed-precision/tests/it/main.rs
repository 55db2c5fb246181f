//! The page's scripts against the crate.

mod bit_explorer;
