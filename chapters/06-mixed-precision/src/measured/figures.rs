//! The chapter's figures and tables, made from one machine's records.

pub mod amp;
pub mod bf16;
pub mod formats;
pub mod models;
