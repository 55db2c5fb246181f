//! The mean of an image's rows.

use crate::{
    device::Launch,
    ops::{Backward, EACH, Op},
    record::Recorder,
    tensor::Tensor,
};

/// The mean of so many rows, one row for each image.
#[derive(Clone, Copy, Debug)]
pub struct Mean(pub usize);

impl Op for Mean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (rows, width, share) = (cx.pass.rows, x.cols, 1.0 / self.0 as f32);
        let x = cx.images_of(x, [self.0, width]);
        let (y, all) = (cx.tensor(rows, width), self.0 * width);
        cx.rows("mean", rows, [x.by_rows()], [y.by_rows()], move |_, [x], [y]| {
            lab::wide!(|| for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(all)) {
                y.fill(0.0);
                for row in x.chunks_exact(width) {
                    y.iter_mut().zip(row).for_each(|(y, x)| *y += x);
                }
                for y in y {
                    *y *= share;
                }
            });
        })
        .costs(x.words())
        .launches(Launch::each(EACH, "mean", y.words()).with(&[self.0, width]));
        let of = self.0;
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dx = cx.like(x);
            cx.rows("mean", rows, [dy.by_rows()], [dx.by_rows()], move |_, [dy], [dx]| {
                lab::wide!(
                    || for (dx, dy) in dx.chunks_exact_mut(all).zip(dy.chunks_exact(width)) {
                        for row in dx.chunks_exact_mut(width) {
                            row.iter_mut().zip(dy).for_each(|(dx, dy)| *dx = dy * share);
                        }
                    }
                );
            })
            .costs(x.words())
            .launches(Launch::each(EACH, "mean_backward", x.words()).with(&[of, width]));
            Some(dx)
        };
        (y, Box::new(backward))
    }
}
