//! Kernels written in Rust, over whole tiles: what remains of a kernel when it says only what a tile does, and what the
//! compiler then promises.
//!
//! [`products`], [`rows`] and [`attention`] are the kernels of a training step. [`catalog`] knows their tensors, [`library`]
//! compiles and launches them, [`code`] reads the machine code, [`interpreter`] runs them without a card. [`reference`]
//! computes the same in `f64`, [`check`] compares, and [`turns`] times on a machine with a card.

pub mod attention;
pub mod catalog;
pub mod check;
pub mod code;
pub mod interpreter;
pub mod library;
pub mod products;
pub mod reference;
pub mod rows;
pub mod turns;
