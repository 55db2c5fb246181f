//! An operation that contains operations: a residual path around some.

use crate::{
    device::Launch,
    ops::{Backward, EACH, Op, chain},
    record::Recorder,
    tensor::{Operand, Tensor},
};

/// y = x + f(x).
pub struct Residual(pub Vec<Box<dyn Op>>);

impl Op for Residual {
    fn name(&self) -> &'static str {
        "residual"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (inner, backward) = chain(&self.0, cx, x);
        let inner = cx.images_of(inner, [x.rows / cx.pass.rows, x.cols]);
        let y = add(cx, x, inner.by_rows());
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let inner = backward(cx, dy)?;
            Some(add(cx, dy, inner.by_rows()))
        };
        (y, Box::new(backward))
    }
}

/// The sum of `x` and `more`, which is added again and again where it is shorter.
pub(super) fn add(cx: &mut Recorder, x: Tensor, more: Operand) -> Tensor {
    let (units, sum) = (cx.pass.rows, cx.like(x));
    cx.rows("add", units, [x.by_rows(), more], [sum.by_rows()], |_, [x, more], [sum]| {
        lab::wide!(|| {
            for (sum, x) in sum.chunks_exact_mut(more.len()).zip(x.chunks_exact(more.len())) {
                sum.iter_mut().zip(x).zip(more).for_each(|((sum, x), more)| *sum = x + more);
            }
        });
    })
    .costs(x.words())
    .launches(Launch::each(EACH, "add", x.words()).with(&[more.tensor.words()]));
    sum
}
