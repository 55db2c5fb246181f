//! Kernels written in Rust, over whole tiles: what remains of a kernel when it says only what a tile does, and what the
//! compiler then promises.
//!
//! [`products`] are kernels, and three more are solutions of exercises, and stand with them; [`exercise`] judges a reader's.
//! [`catalog`] knows their tensors, [`library`] compiles and launches them, [`code`] reads the machine code, [`interpreter`]
//! runs them without a card. [`reference`] computes the same in `f64`, [`check`] compares, and [`turns`] times on a machine
//! with a card, which may lack the compiler ([`kept`]).

pub mod catalog;
pub mod check;
pub mod code;
pub mod exercise;
pub mod interpreter;
pub mod kept;
pub mod library;
pub mod products;
pub mod reference;
pub mod turns;

#[path = "../../exercises/attention-dq/solution.rs"]
pub mod attention_dq;
#[path = "../../exercises/epilogue/solution.rs"]
pub mod epilogue;
#[path = "../../exercises/product-tn/solution.rs"]
pub mod product_tn;
