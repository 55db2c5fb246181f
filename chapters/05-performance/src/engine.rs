//! dfdx's own engine, made faster without changing a line of it: its tape and its store of gradients stay, the
//! operations between them are replaced.
//!
//! The modules in the order of the page. The changes that fit between dfdx's tensors:
//!
//! 1. [`rows`]: operations on tensors: a first layer without a gradient of the data, a layer in one pass, and
//!    softmax and cross-entropy in one operation.
//! 2. [`mask`]: dropout from few random numbers.
//! 3. [`update`]: Adam and the zeroing of the gradients in one pass.
//! 4. [`direct`]: a convolution without patches; [`maps`]: with its `ReLU` and its pool in one operation; [`normed`]: with
//!    its batch normalisation; [`encoder`]: a transformer's block in two operations.
//! 5. [`networks`]: chapter 4's networks and a deeper one, out of these operations.
//! 6. [`tensors`]: the training step of a network of tensors; [`cached`]: the same in pieces that fit the cache.
//!
//! The changes that need numbers to stay where they are:
//!
//! 7. [`store`]: numbers that stay in dfdx's store from step to step.
//! 8. [`layer`]: a layer on plain slices, forward and backward, which 1 and 9 share.
//! 9. [`fast`]: the network in that store, on dfdx's tape; [`fast::learner`]: what the command trains with.
//!
//! And all of them, from stock dfdx to the fast network: the [`ladder`](mod@ladder).

pub mod cached;
pub mod direct;
pub mod encoder;
pub mod fast;
pub mod ladder;
pub mod layer;
pub mod maps;
pub mod mask;
pub mod networks;
pub mod normed;
pub mod rows;
pub mod store;
pub mod tensors;
pub mod update;

/// A device's error as chapter 3's, whose learners the rungs are.
pub(crate) fn failed(error: impl std::fmt::Display) -> backprop::Error {
    backprop::Error::Config(format!(
        "the device failed: {error}; a smaller batch needs less memory"
    ))
}
