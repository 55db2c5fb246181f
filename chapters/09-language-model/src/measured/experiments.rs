//! The chapter's experiments, one file for each part of the page.

pub mod attention;
pub mod cost;
pub mod count;
pub mod decoding;
pub mod devices;
pub mod gpu;
pub mod learning;
pub mod quality;
pub mod serving;
pub mod step;
pub mod text;
