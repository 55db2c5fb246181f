//! The chapter's parts, each alone, together, and beside others.

#![allow(clippy::float_cmp, reason = "the tests compare bits, or whole numbers")]

mod corpus;
// Chapter 5's, for the models of `steps`.
#[path = "../../../05-performance/gpu/tests/it/compiled.rs"]
mod cuda_compile;
mod devices;
mod generate;
mod gpt_count;
mod page;
mod pytorch;
mod serve;
mod steps;
mod talker;
mod tokenizer;

// Chapter 2's, for tests alone.
mod attention;
#[allow(dead_code, reason = "chapter 2 uses all of it")]
#[path = "../../../02-cpu-gpu/tests/compiled/code.rs"]
mod code;
mod config;
mod count;
mod error;
mod evaluate;
mod gpu;
mod layers;
mod layout;
mod measured;
mod model;
mod quantise;
mod runner;
mod scaling;
mod train;
mod transformer;
