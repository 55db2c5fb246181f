//! Jupyter with the Rust kernel, in a folder of its own.
