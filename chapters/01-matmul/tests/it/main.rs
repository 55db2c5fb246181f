//! The products against the f64 reference: the rungs, what later chapters call, and the libraries next to it.

mod common;
mod gemm;
mod machine_code;
mod peers;
mod rungs;
