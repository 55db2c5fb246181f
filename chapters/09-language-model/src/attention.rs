//! Causal attention of one head, as a ladder: every token's query meets the keys of the tokens up to its own, and it gets
//! the values of these, weighted by the softmax of the products.
//!
//! Queries, keys and values are [tokens, head], row after row. The rungs, each with its backward pass:
//!
//! 1. [`naive`]: every step over all n² scores.
//! 2. [`fused`]: scale, mask and softmax in one pass, and only below the diagonal.
//! 3. [`tiled`]: tiles of scores that never leave the cache; memory grows with n (`FlashAttention`).
//!
//! [`causal`] is what they have in common; [`ladder`] has them in a list, with the bytes of each.

pub mod causal;
pub mod fused;
pub mod ladder;
pub mod naive;
pub mod tiled;
