//! What this chapter measures, one file a part.

pub mod counts;
pub mod devices;
pub mod ladder;
pub mod lu;
pub mod truck;
pub mod wrong;
