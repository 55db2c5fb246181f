//! The chapter's experiments, one file for each part of the page.

pub mod command;
pub mod compare;
pub mod engine;
pub mod freed;
pub mod gpu;
pub mod input;
pub mod memory;
pub mod profile;
pub mod pytorch;
pub mod timeline;
