//! The six models, and what each needs in addition to dfdx's operations.
//!
//! 1. [`model`]: what all models share; [`linear`], [`mlp`] (the Keras example on dfdx).
//! 2. [`cnn`] with its [`conv`]olutions, and the CPU's own [`windows`]; [`resnet`] with its batch [`norm`]alisation.
//! 3. [`rnn`] with its [`gates`] and [`transformer`] with its [`attention`], on [`dense`] layers.
//! 4. [`layers`]: how dfdx is told what a model is made of. [`cpu`]: what the
//!    CPU's own operations share.

pub mod attention;
pub mod cnn;
pub mod conv;
pub mod cpu;
pub mod dense;
pub mod gates;
pub mod layers;
pub mod linear;
pub mod mlp;
pub mod model;
pub mod norm;
pub mod resnet;
pub mod rnn;
pub mod transformer;
pub mod windows;
