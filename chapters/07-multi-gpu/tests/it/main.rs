//! The chapter's tests, in one program: its modules' first, then those across them.

#![allow(clippy::float_cmp, reason = "the tests compare bits, or whole numbers")]

mod bytes;
mod comm;
#[cfg(target_os = "linux")]
mod cores;
mod measured;
mod plan;
mod rank;
mod replicas;
mod split;
mod threads;

mod engines;
#[cfg(unix)]
mod failures;
#[path = "../laws/mod.rs"]
mod laws;
mod pipeline_player;
mod ring_page;
