//! What is shown of it and is more than its page declares, part by part.

pub mod comm;
pub mod plan;
pub mod split;
