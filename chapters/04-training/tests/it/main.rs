//! The chapter's integration tests, one module each.

mod descent_playground;
mod page;
mod runs;
mod shapes;
