//! The chapter's integration tests, in one binary: the page's scripts are compared with the crates.

mod card_calculator;
mod memory_planner;
mod roofline_explorer;
