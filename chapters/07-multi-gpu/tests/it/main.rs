//! The chapter's tests from outside, in one program.

#[cfg(unix)]
mod failures;
mod pipeline_player;
mod ring_page;
