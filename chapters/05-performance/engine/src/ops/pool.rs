//! ReLU and the largest of each 2×2 pixels. The two may change places, so ReLU sees a quarter of the numbers; of its input
//! nothing is kept but a byte for each result: which of the four it was.

use crate::{
    ops::{Backward, Op},
    record::Recorder,
    tensor::Tensor,
    words::{bytes, bytes_mut},
};

/// A result of zero came from none of the four: its gradient goes nowhere.
const NONE: u8 = 4;
/// Channels that a loop treats at once.
const LANES: usize = 8;

pub struct ReluPool {
    name: String,
    /// Pixels of a line of its input, and channels.
    width: usize,
    channels: usize,
}

impl ReluPool {
    /// For images of any even height.
    pub fn new(name: &str, width: usize, channels: usize) -> Self {
        assert!(width.is_multiple_of(2) && channels.is_multiple_of(LANES), "{width}, {channels}");
        Self { name: name.to_owned(), width, channels }
    }
}

impl Op for ReluPool {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (line, c) = (self.width * self.channels, self.channels);
        let (units, len) = (x.rows, x.cols / 4);
        assert!(x.cols.is_multiple_of(2 * line), "{}: an odd number of lines", self.name);
        let (y, which) = (cx.tensor(units, len), cx.tensor(units, len / 4));
        let writes = [y.by_rows(), which.by_rows()];
        cx.rows("pool", units, [x.by_rows()], writes, move |_, [x], [y, which]| {
            lab::wide!(|| pool(x, y, bytes_mut(which), line, c));
        })
        .costs(x.words());
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dx = cx.like(x);
            let reads = [dy.by_rows(), which.by_rows()];
            cx.rows("unpool", units, reads, [dx.by_rows()], move |_, [dy, which], [dx]| {
                lab::wide!(|| unpool(dy, bytes(which), dx, line, c));
            });
            Some(dx)
        };
        (y, Box::new(backward))
    }
}

/// Eight channels of a pixel.
type Lanes = [f32; LANES];

/// Where the first of the four pixels of chunk `chunk` is, and the three others.
#[inline(always)]
fn four(chunk: usize, line: usize, c: usize) -> [usize; 4] {
    let per_line = line / 2 / LANES;
    let (row, lane) = (chunk / per_line, chunk % per_line * LANES);
    let at = 2 * row * line + lane / c * 2 * c + lane % c;
    [at, at + c, at + line, at + line + c]
}

#[inline(always)]
fn pool(x: &[f32], y: &mut [f32], which: &mut [u8], line: usize, c: usize) {
    let out = y.as_chunks_mut::<LANES>().0.iter_mut().zip(which.as_chunks_mut::<LANES>().0);
    for (chunk, (y, which)) in out.enumerate() {
        let (mut largest, mut place): (Lanes, _) = ([0.0; LANES], [u32::from(NONE); LANES]);
        for (number, at) in four(chunk, line, c).into_iter().enumerate() {
            let from = &x[at..at + LANES];
            for i in 0..LANES {
                let larger = from[i] > largest[i];
                largest[i] = if larger { from[i] } else { largest[i] };
                place[i] = if larger { number as u32 } else { place[i] };
            }
        }
        *y = largest;
        *which = place.map(|place| place as u8);
    }
}

#[inline(always)]
fn unpool(dy: &[f32], which: &[u8], dx: &mut [f32], line: usize, c: usize) {
    let given = dy.as_chunks::<LANES>().0.iter().zip(which.as_chunks::<LANES>().0);
    for (chunk, (dy, which)) in given.enumerate() {
        for (number, at) in four(chunk, line, c).into_iter().enumerate() {
            let to = &mut dx[at..at + LANES];
            for i in 0..LANES {
                // All bits of the number or none of them: a comparison might become a jump.
                let mask = u32::from(which[i] == number as u8).wrapping_neg();
                to[i] = f32::from_bits(dy[i].to_bits() & mask);
            }
        }
    }
}
