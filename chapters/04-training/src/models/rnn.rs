//! The recurrent network: it reads an image row by row, from the top, and remembers.

use crate::models::{
    dense::Affine,
    gates::{deal_rows, gated_step},
    model::{CLASSES, Images, Learned, Logits, Network},
    norm::{Mode, Rows},
};
use dfdx::{prelude::*, tensor_ops::Device};

/// Moments: the rows of an image.
pub const MOMENTS: usize = 28;
/// Numbers that the network sees at each moment: the pixels of a row.
pub const SEEN: usize = 28;
/// Numbers that it remembers.
pub const HIDDEN: usize = 128;
/// Sums at each moment, three for each number that is remembered: for the two gates and the proposal.
pub const GATES: usize = 3 * HIDDEN;

/// A gated recurrent unit (Cho et al. 2014, as cuDNN computes it) that reads
/// the 28 rows of an image as 28 moments; a dense layer on its last state.
#[derive(Clone, Debug)]
pub struct Rnn<E: Dtype, D: Device<E>> {
    /// What a row of the image says to the gates.
    pub input: Affine<SEEN, GATES, E, D>,
    /// What the state, all that is remembered, says to them.
    pub recurrent: Affine<HIDDEN, GATES, E, D>,
    /// The last state, to the ten digits.
    pub dense: Affine<HIDDEN, CLASSES, E, D>,
}

crate::made_of!(Rnn: input, recurrent, dense);

impl<D: Device<f32>> Rnn<f32, D> {
    // ANCHOR: forward
    /// Reads the images from the top row to the bottom one.
    fn scores<T: Mode<D>>(&self, images: Images<D, T>) -> Learned<D, T> {
        let (dev, batch) = (images.device().clone(), images.shape().0);
        // What a row says does not depend on the state: one product for all.
        let rows = images.try_reshape_like(&(batch * MOMENTS, Const))?;
        let inputs = self.input.forward(rows)?;
        let (inputs, mut tape) = deal_rows(inputs, MOMENTS)?;
        let mut state: Rows<HIDDEN, D> = dev.try_zeros_like(&(batch, Const))?;
        for input in &inputs {
            let sums = self.recurrent.forward(state.clone().put_tape(tape))?;
            (state, tape) = gated_step(input, sums, &state)?.split_tape();
        }
        self.dense.forward(state.put_tape(tape))
    }
    // ANCHOR_END: forward
}

impl<D: Device<f32>> Network<D> for Rnn<f32, D> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        self.scores(images)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.scores(images)
    }
}
