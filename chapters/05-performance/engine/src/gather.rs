//! Batches that a device gathers itself, out of what it keeps: a data set, or a stream of tokens. Nothing is copied to it.

use crate::{
    device::Launch,
    record::Recorder,
    state,
    tensor::{Place, Tensor},
    words::whole,
};

/// `gather.cl`: a batch out of what a device keeps.
pub const GATHER: &str = include_str!("../kernels/gather.cl");

/// What batches are gathered from.
#[derive(Clone, Copy)]
pub(crate) enum Kept {
    /// So many images with their labels.
    Images(usize),
    /// So many tokens, in windows of a length.
    Stream(usize, usize),
}

impl Kept {
    /// The numbers that may stand in an order are those below this one.
    pub(crate) fn beginnings(self) -> usize {
        match self {
            Self::Images(images) => images,
            Self::Stream(tokens, length) => tokens.saturating_sub(length),
        }
    }

    /// How many numbers of an order make a batch of so many rows.
    pub(crate) fn taken(self, rows: usize) -> usize {
        match self {
            Self::Images(_) => rows,
            Self::Stream(_, length) => rows.div_ceil(length),
        }
    }

    /// A batch of images of so many `inputs`, or of windows, by an order.
    pub(crate) fn record(self, cx: &mut Recorder, order: Tensor, inputs: usize) {
        match self {
            Self::Images(data) => gather(cx, order, [data, inputs]),
            Self::Stream(tokens, length) => windows(cx, order, [tokens, length]),
        }
    }
}

/// A batch out of so many images, of so many numbers each.
fn gather(cx: &mut Recorder, order: Tensor, [data, cols]: [usize; 2]) {
    let (rows, of) = (cx.pass.rows, Tensor::new);
    let [images, truth] = [(Place::Data, cols), (Place::Truth, 1)].map(|(p, n)| of(p, 0, data, n));
    let reads = [images, truth, order, state::tensor()].map(Tensor::whole);
    let writes =
        [(Place::Input, cols), (Place::Labels, 1)].map(|(p, n)| of(p, 0, rows, n).by_rows());
    cx.rows("gather", rows, reads, writes, move |first, reads, [images, labels]| {
        let [data, truth, order, state] = reads;
        let order = &whole(order)[first + whole(state)[state::START] as usize..];
        for (at, (to, label)) in order.iter().zip(images.chunks_exact_mut(cols).zip(labels)) {
            to.copy_from_slice(&data[*at as usize * cols..][..cols]);
            *label = truth[*at as usize];
        }
    })
    .launches(Launch::each(GATHER, "gather", rows * cols).with(&[cols]));
}

/// A batch of windows of a length out of so many tokens, and of each token the one behind it.
fn windows(cx: &mut Recorder, order: Tensor, [tokens, length]: [usize; 2]) {
    let (rows, of) = (cx.pass.rows, Tensor::new);
    let reads = [of(Place::Data, 0, tokens, 1), order, state::tensor()].map(Tensor::whole);
    let writes = [Place::Input, Place::Labels].map(|place| of(place, 0, rows, 1).by_rows());
    cx.rows("gather", rows, reads, writes, move |first, reads, [tokens, targets]| {
        let [stream, order, state] = reads;
        let order = &whole(order)[whole(state)[state::START] as usize..];
        for (at, (token, target)) in (first..).zip(tokens.iter_mut().zip(targets)) {
            let at = order[at / length] as usize + at % length;
            (*token, *target) = (stream[at], stream[at + 1]);
        }
    })
    .launches(Launch::each(GATHER, "windows", rows).with(&[length]));
}
