//! `ReLU`, forward and backward, for all that has it, and as an operation where no other one does.
//!
//! NaN stays NaN, and a derivative goes through it, as in `PyTorch`: what went wrong shows.

use crate::{
    device::Launch,
    ops::{Backward, EACH, Op},
    record::Recorder,
    tensor::Tensor,
};

/// A number that is no less than `floor`: `ReLU` for zero, nothing for minus infinity.
#[inline(always)]
pub fn at_least(floor: f32, x: f32) -> f32 {
    if x < floor { floor } else { x }
}

/// What `ReLU` lets through of a derivative: its output `y`, which may be scaled, says whether. All bits of the number or none of
/// them: a comparison would become a jump, and half of these a surprise.
#[inline(always)]
pub fn through(y: f32, dy: f32) -> f32 {
    let any = ((y.to_bits() & 0x7fff_ffff) as i32).wrapping_neg() >> 31;
    f32::from_bits(dy.to_bits() & any as u32)
}

/// The larger of each number and zero.
pub struct Relu;

impl Op for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        // ANCHOR: launches
        let (units, y) = (cx.pass.rows, cx.like(x));
        cx.rows("relu", units, [x.by_rows()], [y.by_rows()], |_, [x], [y]| {
            let given = y.iter_mut().zip(x);
            lab::wide!(|| given.for_each(|(y, x)| *y = at_least(0.0, *x)));
        })
        .costs(x.words())
        .launches(Launch::each(EACH, "relu", x.words()));
        // ANCHOR_END: launches
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dx = cx.like(x);
            let reads = [dy.by_rows(), y.by_rows()];
            cx.rows("relu", units, reads, [dx.by_rows()], |_, [dy, y], [dx]| {
                let given = dy.iter().zip(y);
                lab::wide!(|| dx
                    .iter_mut()
                    .zip(given)
                    .for_each(|(dx, (dy, y))| *dx = through(*y, *dy)));
            })
            .costs(x.words())
            .launches(Launch::each(EACH, "relu_backward", x.words()));
            Some(dx)
        };
        (y, Box::new(backward))
    }
}
