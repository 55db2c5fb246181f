//! The chapter from outside, by file, and against a library that it does without.

#![allow(clippy::float_cmp, reason = "the tests compare bits, or whole numbers")]

mod activation;
mod adam;
mod check;
mod conv;
mod count;
mod dense;
mod dfdx;
mod dropout;
mod error;
mod fast;
mod fits;
mod flat;
mod init;
mod ladder;
mod linear;
mod measured {
    mod experiments;
    mod figures;
    mod peers;
}
mod mlp;
mod order;
mod real;
mod sgd;
mod softmax;
mod train;
mod vgg;
