//! An image becomes its square patches, a row each: from left to right, from top to bottom.

use crate::{
    device::Launch,
    ops::{Backward, EACH, Op},
    record::Recorder,
    tensor::Tensor,
};

/// Patches of an image with one channel.
#[derive(Clone, Copy, Debug)]
pub struct Patches {
    /// Pixels of a side of the image.
    pub image: usize,
    /// Pixels of a side of a patch.
    pub patch: usize,
}

impl Op for Patches {
    fn name(&self) -> &'static str {
        "patches"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let own = *self;
        let Self { image, patch } = own;
        assert!(image.is_multiple_of(patch), "patches: {patch} of {image} pixels; take a divisor");
        let x = cx.images_of(x, [1, image * image]);
        let y = own.moved(cx, x.shaped(x.words() / patch / patch, patch * patch), false);
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            (!x.constant).then(|| own.moved(cx, dy.shaped(x.rows, x.cols), true))
        };
        (Tensor { constant: x.constant, ..y }, Box::new(backward))
    }
}

impl Patches {
    /// Line by line from images to patches, or back.
    fn moved(self, cx: &mut Recorder, x: Tensor, back: bool) -> Tensor {
        let (y, Self { image, patch }) = (cx.like(x), self);
        let (units, across) = (cx.pass.rows, image / patch);
        cx.rows("patches", units, [x.by_rows()], [y.by_rows()], move |_, [x], [y]| {
            let pixels = image * image;
            for (x, y) in x.chunks_exact(pixels).zip(y.chunks_exact_mut(pixels)) {
                // The lines of patches in the image's order.
                for line in 0..image * across {
                    let (row, col) = (line / across, line % across);
                    let own = (row / patch * across + col) * patch + row % patch;
                    let (from, to) = if back { (own, line) } else { (line, own) };
                    y[to * patch..][..patch].copy_from_slice(&x[from * patch..][..patch]);
                }
            }
        })
        .launches(Launch::each(EACH, "patches", x.words()).with(&[
            image,
            patch,
            usize::from(back),
        ]));
        y
    }
}
