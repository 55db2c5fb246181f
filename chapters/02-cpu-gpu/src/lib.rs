//! Chapter 2: how a GPU works, and the matrix product on one, rung by rung.
//!
//! The modules in the order of the page:
//!
//! - [`error`]: what can go wrong, each as a sentence with the way out.
//! - [`experiments`]: records, and the pictures and tables made from them.

pub mod error;
pub mod experiments;
pub mod figures;

pub use error::{Error, Result};
pub use experiments::chapter;
