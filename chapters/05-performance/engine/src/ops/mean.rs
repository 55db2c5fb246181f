//! The mean of each channel over an image's pixels.

use crate::{
    ops::{Backward, Op, channels::add},
    record::Recorder,
    tensor::Tensor,
};

/// From any number of pixels to one.
pub struct MeanPool {
    /// Numbers of a pixel.
    pub channels: usize,
}

impl Op for MeanPool {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (units, channels, image) = (x.rows, self.channels, x.cols);
        assert!(image.is_multiple_of(channels), "mean: {image} numbers of {channels} channels");
        let (y, part) = (cx.tensor(units, channels), channels as f32 / image as f32);
        cx.rows("mean", units, [x.by_rows()], [y.by_rows()], move |_, [x], [y]| {
            lab::wide!(|| for (y, x) in y.chunks_exact_mut(channels).zip(x.chunks_exact(image)) {
                y.fill(0.0);
                x.chunks_exact(channels).for_each(|pixel| add(y, pixel));
                y.iter_mut().for_each(|y| *y *= part);
            });
        })
        .costs(x.words());
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dx = cx.like(x);
            cx.rows("mean", units, [dy.by_rows()], [dx.by_rows()], move |_, [dy], [dx]| {
                let images = dx.chunks_exact_mut(image).zip(dy.chunks_exact(channels));
                for pixel in images.flat_map(|(dx, dy)| {
                    dx.chunks_exact_mut(channels).map(move |pixel| (pixel, dy))
                }) {
                    pixel.0.iter_mut().zip(pixel.1).for_each(|(dx, dy)| *dx = dy * part);
                }
            });
            Some(dx)
        };
        (y, Box::new(backward))
    }
}
