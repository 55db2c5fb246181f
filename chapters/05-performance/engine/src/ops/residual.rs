//! An operation that contains operations: a residual path around some.

use crate::{
    device::Launch,
    ops::{Backward, EACH, Op, chain},
    record::Recorder,
    tensor::Tensor,
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
        let y = add(cx, x, inner);
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let inner = backward(cx, dy)?;
            Some(add(cx, dy, inner))
        };
        (y, Box::new(backward))
    }
}

fn add(cx: &mut Recorder, x: Tensor, more: Tensor) -> Tensor {
    let (units, sum) = (cx.pass.rows, cx.like(x));
    cx.rows("add", units, [x.by_rows(), more.by_rows()], [sum.by_rows()], |_, [x, more], [sum]| {
        for ((sum, x), more) in sum.iter_mut().zip(x).zip(more) {
            *sum = x + more;
        }
    })
    .costs(x.words())
    .launches(Launch::each(EACH, "add", x.words()).with(&[x.words()]));
    sum
}
