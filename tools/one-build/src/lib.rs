//! Nothing: the manifest beside it is what this crate is for.
