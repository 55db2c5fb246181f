//! Operations: each records its forward pass and returns what will record the backward pass. What that closure holds is
//! what is kept; a tensor that nobody holds is free after its last reader.

pub mod attention;
pub mod batch_norm;
mod channels;
pub mod conv;
pub mod dense;
pub mod direct;
pub mod gru;
pub mod linear;
pub mod loss;
pub mod mean;
pub mod norm;
pub mod panel;
pub mod patches;
pub mod pool;
pub mod position;
pub mod relu;
pub mod residual;
pub mod segment;
pub mod tile;

use crate::{record::Recorder, tensor::Tensor};

/// `each.cl`: kernels with a thread for each number.
pub const EACH: &str = include_str!("../kernels/each.cl");

/// Records the backward pass: from the gradient of the result to that of the input, or nothing for constant inputs.
// ANCHOR: op
pub type Backward = Box<dyn FnOnce(&mut Recorder, Tensor) -> Option<Tensor>>;

/// An operation. It computes nothing: it writes calls down.
pub trait Op: Send + Sync {
    /// Its name, in the ledger and in the profile.
    fn name(&self) -> &str;

    /// Records the forward pass.
    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward);
}
// ANCHOR_END: op

/// Operations one after the other are an operation.
pub fn chain(ops: &[Box<dyn Op>], cx: &mut Recorder, mut x: Tensor) -> (Tensor, Backward) {
    let mut tape: Vec<(String, Tensor, Backward)> = Vec::new();
    for op in ops {
        let (y, backward) = cx.of(op.name(), |cx| op.record(cx, x));
        tape.push((format!("{} backward", op.name()), y, backward));
        x = y;
    }
    let backward = move |cx: &mut Recorder, mut dy: Tensor| {
        while let Some((name, y, backward)) = tape.pop() {
            // The next operation may have taken the same words as rows of another length.
            dy = cx.of(&name, |cx| backward(cx, dy.shaped(y.rows, y.cols)))?;
        }
        Some(dy)
    };
    (x, Box::new(backward))
}
