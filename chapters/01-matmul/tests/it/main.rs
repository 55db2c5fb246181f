//! The chapter's tests: the rungs, what later chapters call, and the libraries next to it against the f64 reference; and
//! each module's own.

#![allow(clippy::float_cmp, reason = "the numbers are chosen so that nothing rounds")]

mod avx512bf16;
mod bf16;
mod cache;
mod common;
mod gemm;
mod machine_code;
mod measured;
mod pairs;
mod parallel;
mod peers;
mod product;
mod roofline;
mod rungs;
mod sums;
