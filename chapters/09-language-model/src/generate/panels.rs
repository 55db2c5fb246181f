//! Weights in panels: a matrix in the order in which decoding reads it.
//!
//! A step of decoding multiplies a few rows (one for each sequence) with every matrix of the model. A general product would
//! first copy the weights into its own order, which costs more than the product. Here that is done once, when the model is
//! loaded: 32 columns of the matrix lie together, input after input. The weights of a panel go through the registers once for
//! up to four rows, and a panel that more rows need is still in the cache. Each sum is added up in the order of the inputs,
//! whatever the number of rows and threads: a sequence gets the same bits alone and in company.

use lab::vectors::wide;
use matmul::{parallel::available, team::share};
use std::{array, ops::Range};

/// Columns that lie together: two vectors of AVX-512.
pub const PANEL: usize = 32;

/// Rows that share one pass over a panel.
const ROWS: usize = 4;

/// Multiplications that are worth a thread: some 5 µs of work.
const WORTH: usize = 1 << 15;

/// A matrix of weights, [inputs, outputs], in f32 or in 8 bits.
#[derive(Clone, Debug)]
pub struct Matrix {
    inputs: usize,
    outputs: usize,
    panels: Panels,
}

/// The lines of all panels: 32 weights of one input.
#[derive(Clone, Debug)]
enum Panels {
    F32(Vec<[f32; PANEL]>),
    /// With a scale for each output.
    I8(Vec<[i8; PANEL]>, Vec<f32>),
}

/// A weight as it is stored.
trait Weight: Copy + Sync {
    fn value(self) -> f32;
}

impl Weight for f32 {
    #[inline(always)]
    fn value(self) -> f32 {
        self
    }
}

impl Weight for i8 {
    #[inline(always)]
    fn value(self) -> f32 {
        f32::from(self)
    }
}

impl Matrix {
    /// A matrix whose weight from input i to output j is `at(i, j)`.
    pub fn new(inputs: usize, outputs: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        Self { inputs, outputs, panels: Panels::F32(lines(inputs, outputs, at)) }
    }

    /// The same in 8 bits: the weight is `at(i, j)` times `scales[j]`.
    pub fn in_8_bits(inputs: usize, scales: Vec<f32>, at: impl Fn(usize, usize) -> i8) -> Self {
        let outputs = scales.len();
        Self { inputs, outputs, panels: Panels::I8(lines(inputs, outputs, at), scales) }
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Bytes that one product reads, the scales included.
    pub fn bytes(&self) -> usize {
        match &self.panels {
            Panels::F32(lines) => size_of_val(&lines[..]),
            Panels::I8(lines, scales) => size_of_val(&lines[..]) + size_of_val(&scales[..]),
        }
    }

    /// The weights of output `output`, into `to`: a row of the embedding, whose matrix is the transposed one.
    ///
    /// # Panics
    /// If there is no such output, or `to` has not one value for each input.
    pub fn column(&self, output: usize, to: &mut [f32]) {
        assert!(output < self.outputs && to.len() == self.inputs);
        let (first, lane) = (output / PANEL * self.inputs, output % PANEL);
        match &self.panels {
            Panels::F32(lines) => {
                to.iter_mut().zip(&lines[first..]).for_each(|(to, line)| *to = line[lane]);
            }
            Panels::I8(lines, scales) => {
                let lines = to.iter_mut().zip(&lines[first..]);
                lines.for_each(|(to, line)| *to = f32::from(line[lane]) * scales[output]);
            }
        }
    }

    /// y = x·W, with x of [rows, inputs] and y of [rows, outputs], on as many threads as pay.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn product(&self, y: &mut [f32], x: &[f32]) {
        let rows = y.len() / self.outputs;
        assert!(y.len() == rows * self.outputs && x.len() == rows * self.inputs);
        let panels = self.outputs.div_ceil(PANEL);
        let work = rows * self.inputs * self.outputs;
        let threads = available().min(work / WORTH).clamp(1, panels);
        // Each thread gets some panels, and of each row of y their columns.
        let edge = |thread: usize| thread * panels / threads;
        let mut parts: Vec<(Range<usize>, Vec<&mut [f32]>)> = (0..threads)
            .map(|thread| (edge(thread)..edge(thread + 1), Vec::with_capacity(rows)))
            .collect();
        for mut row in y.chunks_exact_mut(self.outputs) {
            for (panels, mine) in &mut parts {
                let columns = (panels.len() * PANEL).min(row.len());
                let (left, right) = row.split_at_mut(columns);
                mine.push(left);
                row = right;
            }
        }
        share(parts, |(panels, y)| self.stripe(panels.clone(), y, x));
    }

    /// The columns of some panels.
    fn stripe(&self, panels: Range<usize>, y: &mut [&mut [f32]], x: &[f32]) {
        let lines = panels.start * self.inputs..panels.end * self.inputs;
        match &self.panels {
            Panels::F32(all) => wide!(|| stripe(y, x, self.inputs, &all[lines])),
            Panels::I8(all, scales) => {
                wide!(|| stripe(y, x, self.inputs, &all[lines]));
                let scales = &scales[panels.start * PANEL..];
                for row in y {
                    row.iter_mut().zip(scales).for_each(|(y, scale)| *y *= scale);
                }
            }
        }
    }
}

/// The weights of each panel, input after input; the last panel is filled with zeros.
fn lines<W: Weight + Default>(
    inputs: usize,
    outputs: usize,
    at: impl Fn(usize, usize) -> W,
) -> Vec<[W; PANEL]> {
    let mut all = Vec::with_capacity(outputs.div_ceil(PANEL) * inputs);
    for first in (0..outputs).step_by(PANEL) {
        for input in 0..inputs {
            let lane =
                |j: usize| if first + j < outputs { at(input, first + j) } else { W::default() };
            all.push(array::from_fn(lane));
        }
    }
    all
}

/// Panel after panel, and in each the rows in groups.
#[inline(always)]
fn stripe<W: Weight>(y: &mut [&mut [f32]], x: &[f32], inputs: usize, lines: &[[W; PANEL]]) {
    for (at, panel) in lines.chunks_exact(inputs).enumerate() {
        let groups = y.chunks_mut(ROWS).zip(x.chunks(ROWS * inputs));
        for (y, x) in groups {
            match y.len() {
                4 => group::<W, 4>(y, x, at, panel),
                3 => group::<W, 3>(y, x, at, panel),
                2 => group::<W, 2>(y, x, at, panel),
                _ => group::<W, 1>(y, x, at, panel),
            }
        }
    }
}

/// One panel times `N` rows: each weight is loaded once and used `N` times.
///
/// The loops are over numbers that are known when it is compiled, and the sums stay in registers. Written with iterators over
/// rows and lanes, the compiler kept the sums in memory and made no vectors from two rows on.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "with iterators the sums do not stay in registers")]
fn group<W: Weight, const N: usize>(
    y: &mut [&mut [f32]],
    x: &[f32],
    at: usize,
    panel: &[[W; PANEL]],
) {
    let inputs = panel.len();
    // ANCHOR: group
    let x: [&[f32]; N] = array::from_fn(|row| &x[row * inputs..][..inputs]);
    let mut sums = [[0.0_f32; PANEL]; N];
    for (i, line) in panel.iter().enumerate() {
        let weights: [f32; PANEL] = array::from_fn(|lane| line[lane].value());
        for row in 0..N {
            for lane in 0..PANEL {
                sums[row][lane] += x[row][i] * weights[lane];
            }
        }
    }
    for (y, sums) in y.iter_mut().zip(sums) {
        let y = &mut y[at * PANEL..];
        let columns = y.len().min(PANEL);
        y[..columns].copy_from_slice(&sums[..columns]);
    }
    // ANCHOR_END: group
}
