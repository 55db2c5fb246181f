//! The figures and tables of the chapter that are more than their page declares, made from one machine's records.

pub mod amp;
pub mod bf16;
