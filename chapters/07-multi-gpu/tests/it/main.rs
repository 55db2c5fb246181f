//! The chapter's tests from outside, in one program.

mod engines;
#[cfg(unix)]
mod failures;
#[path = "../laws/mod.rs"]
mod laws;
mod pipeline_player;
mod ring_page;
