//! The chapter's parts together, and beside others.

#![allow(clippy::float_cmp, reason = "the tests compare bits, or whole numbers")]

mod corpus;
mod cuda_compile;
mod devices;
mod generate;
mod gpt_count;
mod page;
mod passes;
mod pytorch;
mod serve;
mod talker;
mod tokenizer;

// Chapter 2's, for tests alone.
#[allow(dead_code, reason = "chapter 2 uses all of it")]
#[path = "../../../02-cpu-gpu/tests/compiled/code.rs"]
mod code;
