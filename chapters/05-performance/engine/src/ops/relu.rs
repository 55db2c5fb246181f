//! `ReLU` alone: where no operation before it has one.

use crate::{
    device::Launch,
    ops::{Backward, EACH, Op, channels::through_relu},
    record::Recorder,
    tensor::Tensor,
};

/// The larger of each number and zero.
pub struct Relu;

impl Op for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (units, y) = (cx.pass.rows, cx.like(x));
        cx.rows("relu", units, [x.by_rows()], [y.by_rows()], |_, [x], [y]| {
            lab::wide!(|| y.iter_mut().zip(x).for_each(|(y, x)| *y = x.max(0.0)));
        })
        .costs(x.words())
        .launches(Launch::each(EACH, "relu", x.words()));
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dx = cx.like(x);
            let reads = [dy.by_rows(), y.by_rows()];
            cx.rows("relu", units, reads, [dx.by_rows()], |_, [dy, y], [dx]| {
                lab::wide!(|| through_relu(dy, y, dx));
            })
            .launches(Launch::each(EACH, "relu_backward", x.words()));
            Some(dx)
        };
        (y, Box::new(backward))
    }
}
