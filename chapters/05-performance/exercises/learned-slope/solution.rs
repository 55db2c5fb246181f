//! PReLU: a leaky ReLU whose slope is learned.

use engine::{
    ops::{Backward, Op},
    params::Params,
    record::Recorder,
    tensor::Tensor,
};

/// y = x where x > 0, and a·x elsewhere, with one a for all.
pub struct Prelu {
    slope: Tensor,
}

impl Prelu {
    /// With a = 1/4 at first.
    pub fn new(params: &mut Params) -> Self {
        Self { slope: params.constant("slope", 1, 0.25) }
    }
}

impl Op for Prelu {
    fn name(&self) -> &str {
        "prelu"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (images, slope, y) = (cx.pass.rows, self.slope, cx.like(x));
        let (reads, writes) = ([x.by_rows(), slope.whole()], [y.by_rows()]);
        cx.rows("prelu", images, reads, writes, |_, [x, slope], [y]| {
            for (y, x) in y.iter_mut().zip(x) {
                *y = if *x > 0.0 { *x } else { slope[0] * x };
            }
        });
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dx = cx.like(x);
            let reads = [dy.by_rows(), x.by_rows(), slope.whole()];
            // EXERCISE: begin
            let parts = cx.parts(1);
            let writes = [dx.by_rows(), parts.part()];
            cx.rows("prelu", images, reads, writes, |_, [dy, x, slope], [dx, sums]| {
                sums.fill(0.0);
                for (dx, (dy, x)) in dx.iter_mut().zip(dy.iter().zip(x)) {
                    *dx = if *x > 0.0 { *dy } else { slope[0] * dy };
                    sums[0] += if *x > 0.0 { 0.0 } else { dy * x };
                }
            });
            cx.sum(slope.gradient(), parts);
            // EXERCISE: instead
            // cx.rows("prelu", images, reads, [dx.by_rows()], |_, [dy, x, slope], [dx]| {
            //     for (dx, (dy, x)) in dx.iter_mut().zip(dy.iter().zip(x)) {
            //         *dx = if *x > 0.0 { *dy } else { slope[0] * dy };
            //     }
            // });
            // EXERCISE: end
            Some(dx)
        };
        (y, Box::new(backward))
    }
}
