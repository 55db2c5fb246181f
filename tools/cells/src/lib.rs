//! The cells of the notebooks as programs: `tests/run.rs` runs them.
//!
//! The kernel compiles each cell when it comes to it, which takes minutes for all of them. Here they are compiled in one go
//! with the crates that they name, so that a change that breaks a cell is seen at once. The kernel itself is tried with
//! `notebooks run`.
