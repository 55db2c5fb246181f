#![allow(clippy::result_large_err)] // as in the crate

mod counts;
mod ladder;
mod lessons;
mod machine;
mod memory;
mod occupancy;
