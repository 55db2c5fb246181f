//! What of the chapter's figures and tables has a geometry or words of its own; the pages declare the others.

pub mod cost;
pub mod devices;
pub mod learning;
