//! ReLU and the largest of each 2×2 pixels. The two may change places, so ReLU sees a quarter of the numbers; of its input
//! nothing is kept but a byte for each result: which of the four it was.

use crate::{
    device::Launch,
    ops::{Backward, Op},
    record::Recorder,
    tensor::Tensor,
    words::{bytes, bytes_mut},
};

/// `pool.cl`.
const POOL: &str = include_str!("../../kernels/pool.cl");
/// A result came from the first to the fourth if this bit is set. One of zero came from none: its gradient goes nowhere.
const NONE: u8 = 0;
/// Channels that a loop treats at once.
const LANES: usize = 8;

/// `ReLU`, then the largest of each four pixels.
pub struct ReluPool {
    name: String,
    /// Height, width and channels of its input.
    image: [usize; 3],
}

impl ReluPool {
    /// For images of (height, width, channels).
    pub fn new(name: &str, image: [usize; 3]) -> Self {
        let [h, w, c] = image;
        let fits = h.is_multiple_of(2) && w.is_multiple_of(2) && c.is_multiple_of(LANES);
        assert!(fits, "{name}: {h}×{w}×{c} numbers; take even sides, and channels in whole eights");
        Self { name: name.to_owned(), image }
    }
}

impl Op for ReluPool {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let [h, w, c] = self.image;
        let (units, line, x) = (cx.pass.rows, w * c, cx.images_of(x, [h * w, c]));
        let (y, which) = (cx.tensor(x.rows / 4, c), cx.tensor(units, h * line / 16));
        let writes = [y.by_rows(), which.by_rows()];
        cx.rows("pool", units, [x.by_rows()], writes, move |_, [x], [y, which]| {
            let which = bytes_mut(which);
            // To look at every number for one that is none costs a third of the time, and there is none but after a fault.
            let sum = lab::wide!(|| pool::<false>(x, y, which, line, c));
            if sum.is_nan() {
                lab::wide!(|| pool::<true>(x, y, which, line, c));
            }
        })
        .costs(x.words())
        .launches(Launch::each(POOL, "pool", y.words()).with(&[line, c]));
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dx = cx.like(x);
            let reads = [dy.by_rows(), which.by_rows()];
            cx.rows("unpool", units, reads, [dx.by_rows()], move |_, [dy, which], [dx]| {
                lab::wide!(|| unpool(dy, bytes(which), dx, line, c));
            })
            .launches(Launch::each(POOL, "unpool", y.words()).with(&[line, c]));
            Some(dx)
        };
        (y, Box::new(backward))
    }
}

/// Pixels of `c` channels in lines of `line` numbers: the largest of each four above zero, and which it was. NaN is larger than
/// all if `NAN`, and smaller else. Returns a sum of all numbers.
#[inline(always)]
fn pool<const NAN: bool>(x: &[f32], y: &mut [f32], which: &mut [u8], line: usize, c: usize) -> f32 {
    let mut sums = [0.0; LANES];
    let out = y.chunks_exact_mut(line / 2).zip(which.chunks_exact_mut(line / 2));
    for (lines, (y, which)) in x.chunks_exact(2 * line).zip(out) {
        let (top, bottom) = lines.split_at(line);
        let four = top.chunks_exact(2 * c).zip(bottom.chunks_exact(2 * c));
        let out = y.chunks_exact_mut(c).zip(which.chunks_exact_mut(c));
        for ((top, bottom), (y, which)) in four.zip(out) {
            let ((a, b), (c, d)) = (top.split_at(c), bottom.split_at(c));
            let out = y.as_chunks_mut::<LANES>().0.iter_mut().zip(which.as_chunks_mut().0);
            for (at, (y, which)) in out.enumerate() {
                let (mut largest, mut place) = ([0.0; LANES], [u32::from(NONE); LANES]);
                for (number, from) in [a, b, c, d].into_iter().enumerate() {
                    let from = &from[at * LANES..][..LANES];
                    for i in 0..LANES {
                        let larger = (from[i] > largest[i]) | (NAN && from[i].is_nan());
                        sums[i] += from[i];
                        largest[i] = if larger { from[i] } else { largest[i] };
                        place[i] = if larger { 1 << number } else { place[i] };
                    }
                }
                *y = largest;
                *which = place.map(|place| place as u8);
            }
        }
    }
    sums.iter().sum()
}

/// The backward pass of [`pool`]: each derivative where its number was found, zeros elsewhere.
#[inline(always)]
pub(super) fn unpool(dy: &[f32], which: &[u8], dx: &mut [f32], line: usize, c: usize) {
    let given = dy.chunks_exact(line / 2).zip(which.chunks_exact(line / 2));
    for (lines, (dy, which)) in dx.chunks_exact_mut(2 * line).zip(given) {
        let given = dy.chunks_exact(c).zip(which.chunks_exact(c));
        for (pixel, (dy, which)) in given.enumerate() {
            let given = dy.as_chunks::<LANES>().0.iter().zip(which.as_chunks::<LANES>().0);
            for (chunk, (dy, which)) in given.enumerate() {
                let at = 2 * pixel * c + chunk * LANES;
                for (number, at) in [at, at + c, at + line, at + line + c].into_iter().enumerate() {
                    let mut to = [0.0; LANES];
                    for i in 0..LANES {
                        // All bits of the number or none of them: a comparison might become a jump.
                        let mask = (u32::from(which[i]) >> number & 1).wrapping_neg();
                        to[i] = f32::from_bits(dy[i].to_bits() & mask);
                    }
                    lines[at..at + LANES].copy_from_slice(&to);
                }
            }
        }
    }
}
