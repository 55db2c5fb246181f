//! The chapter's experiments, one file for each part of the page.

pub mod amp;
pub mod bf16;
pub mod formats;
pub mod models;
