//! The figures and tables of this chapter that are more than their page declares, made from records.

pub mod counters;
pub mod counts;
pub mod devices;
pub mod ladder;
pub mod lu;
pub mod truck;
pub mod words;
pub mod wrong;
