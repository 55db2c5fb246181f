//! What to train, not how: models, convolutions and batches by the time that they take to read well.
//!
//! Models and batches are trained by chapter 4 and by the [`engine`]. [`convolution`] has three ways to
//! convolve.

pub mod convolution;
