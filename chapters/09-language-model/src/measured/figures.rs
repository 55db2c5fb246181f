//! The chapter's figures and tables, made from one machine's records.

pub mod attention;
pub mod cost;
pub mod count;
pub mod devices;
pub mod gpu;
pub mod learning;
pub mod serving;
pub mod step;
pub mod text;
