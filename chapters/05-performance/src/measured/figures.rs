//! What of the chapter's figures and tables has a geometry or words of its own; the pages declare the others.

pub mod compare;
pub mod input;
pub mod lanes;
pub mod memory;
pub mod profile;
pub mod timeline;
