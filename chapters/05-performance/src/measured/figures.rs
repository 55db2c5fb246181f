//! The chapter's figures and tables, made from one machine's records.

pub mod command;
pub mod compare;
pub mod engine;
pub mod gpu;
pub mod input;
mod lanes;
pub mod memory;
pub mod profile;
pub mod timeline;
