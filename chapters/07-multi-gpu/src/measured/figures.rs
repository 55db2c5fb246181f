//! What is shown of it, part by part.

pub mod comm;
pub mod plan;
pub mod replicas;
pub mod split;
