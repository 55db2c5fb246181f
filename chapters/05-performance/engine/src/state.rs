//! What changes from step to step: a few words among the tensors, so that the same calls run every time.

use crate::tensor::{Place, Tensor};

/// Updates that were done: Adam's clock.
pub const STEP: usize = 0;
/// The seed of dropout's masks.
pub const SEED: usize = 1;
/// Masks that were drawn.
pub const DRAW: usize = 2;
/// The learning rate η.
pub const RATE: usize = 3;
/// The factor before derivatives in f16: chapter 6's loss scale.
pub const SCALE: usize = 4;
/// The longest gradient that an update takes as it is.
pub const LIMIT: usize = 5;
/// What a row's loss counts: 1 over the rows of the batch.
pub const SHARE: usize = 6;
/// Adam's rate for this step, with the corrections of its means: what a GPU's kernel takes.
pub const AHEAD: usize = 7;
/// And what keeps its division away from zero.
pub const EPSILON: usize = 8;
/// The first image of a pass, among those of its batch.
pub const FIRST: usize = 9;
/// The first image of a batch among those of the data set's order.
pub const START: usize = 10;
/// How many the host tells, before what it starts next.
pub const TOLD: usize = 11;
/// What an optimizer multiplies gradients with: less than 1 if they are too long, and below zero if one's length was no number.
/// Then nothing moves, until somebody sets it anew. It is the device's word: what it found is not for the host to wait for.
pub const CLIP: usize = 11;
/// How many there are.
pub const WORDS: usize = 12;

/// All of them.
pub fn tensor() -> Tensor {
    Tensor::new(Place::State, 0, 1, WORDS)
}
