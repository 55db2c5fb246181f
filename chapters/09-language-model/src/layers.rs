//! The transformer's layers, each forward and backward beside each other, on plain rows.
//!
//! In the order in which a token meets them: [`embedding`], [`rms_norm`], [`rotary`], [`attention`], [`swiglu`].

pub mod attention;
pub mod embedding;
pub mod rms_norm;
pub mod rotary;
pub mod swiglu;
