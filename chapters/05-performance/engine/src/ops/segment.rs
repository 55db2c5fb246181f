//! An operation that contains operations and keeps nothing of them but its input: the backward pass records them again.
//!
//! Chen, Xu, Zhang and Guestrin 2016, "Training deep nets with sublinear memory cost".

use crate::{
    ops::{Backward, Op, chain},
    record::Recorder,
    tensor::Tensor,
};
use std::sync::Arc;

/// Operations that are computed twice. Dropout counts places, so both times the numbers are the same.
pub struct Segment(pub Arc<[Box<dyn Op>]>);

impl Op for Segment {
    fn name(&self) -> &'static str {
        "segment"
    }

    // ANCHOR: segment
    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        // What this backward pass would keep is dropped with it.
        let (y, _) = chain(&self.0, cx, x);
        let ops = Arc::clone(&self.0);
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let (_, backward) = cx.again(|cx| chain(&ops, cx, x));
            backward(cx, dy)
        };
        (y, Box::new(backward))
    }
    // ANCHOR_END: segment
}
