//! A product of few rows, within a kernel: the rows of a block, while they are in the cache, times weights that were laid out
//! in panels once a pass. No thread waits for another one. It is chapter 1's micro-kernel without the loops around it.

use crate::{
    device::Launch,
    ops::{EACH, relu::at_least},
    program::Epilogue,
    record::Recorder,
    tensor::{Matrix, Tensor},
};
use matmul::{registers::Vector, simd::Level};

/// The most columns of a panel: three vectors of sixteen.
const WIDE: usize = 48;

/// Columns of the panels that a matrix of so many columns has, except for the last one.
fn wide(cols: usize) -> usize {
    if cols <= WIDE { cols } else { cols.div_ceil(cols.div_ceil(WIDE)).next_multiple_of(16) }
}

/// A matrix of parameters in panels of columns: each has its rows, one behind the other. For a GPU it is as it lies, or turned
/// around.
pub fn packed(cx: &mut Recorder, matrix: impl Into<Matrix>) -> Tensor {
    let Matrix { tensor, transposed, .. } = matrix.into();
    let Tensor { rows, cols, .. } = tensor;
    let (k, n) = if transposed { (cols, rows) } else { (rows, cols) };
    if !(cx.form.cached || transposed) {
        return tensor;
    }
    let packed = cx.tensor(k, n);
    let call = |cx: &mut Recorder| {
        cx.rows("pack", 1, [tensor.whole()], [packed.by_rows()], move |_, [from], [to]| {
            for (panel, to) in to.chunks_mut(k * wide(n)).enumerate() {
                let (first, width) = (panel * wide(n), to.len() / k);
                for (row, to) in to.chunks_exact_mut(width).enumerate() {
                    if transposed {
                        let column = from[first * k + row..].iter().step_by(k);
                        to.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
                    } else {
                        to.copy_from_slice(&from[row * n + first..][..width]);
                    }
                }
            }
        })
        .launches(Launch::each(EACH, "turn", k * n).with(&[rows, cols]));
    };
    cx.ahead(call);
    packed
}

/// Three matrices of parameters side by side.
pub fn joined(cx: &mut Recorder, parts: [Tensor; 3]) -> Tensor {
    let (cols, own) = (parts[0].cols, cx.tensor(parts[0].rows, 3 * parts[0].cols));
    cx.ahead(|cx| {
        cx.rows("join", 1, parts.map(Tensor::whole), [own.by_rows()], move |_, parts, [own]| {
            for (row, own) in own.chunks_exact_mut(3 * cols).enumerate() {
                for (to, from) in own.chunks_exact_mut(cols).zip(parts) {
                    to.copy_from_slice(&from[row * cols..][..cols]);
                }
            }
        })
        .launches(Launch::each(EACH, "join", own.words()).with(&[cols]));
    });
    own
}

/// y = x·W, plus a row, then `ReLU` if it is asked for, in the block's own cache.
pub fn forward(
    cx: &mut Recorder,
    x: Tensor,
    w: impl Into<Matrix>,
    bias: Option<Tensor>,
    relu: bool,
) -> Tensor {
    let (units, w) = (cx.pass.rows, w.into());
    let (k, n) = w.shape();
    let y = cx.tensor(x.rows, n);
    if !cx.form.cached {
        cx.product(y, x, w, Epilogue { bias, relu, dropout: None });
        return y;
    }
    let (w, zeros) = (packed(cx, w), vec![0.0; n]);
    let reads = [x.by_rows(), w.whole(), bias.unwrap_or(w).whole()];
    cx.rows("near product", units, reads, [y.by_rows()], move |_, [x, w, row], [y]| {
        let row = if bias.is_some() { row } else { &zeros };
        product((y, n), Left { values: x, row: k, term: 1 }, Right::packed(w, k), Some(row));
        if relu {
            lab::wide!(|| y.iter_mut().for_each(|y| *y = at_least(0.0, *y)));
        }
    })
    .costs(2 * x.rows * k * n);
    y
}

/// The gradient of a matrix that rows `x` were multiplied with, from that of what came out, which begins in column `from` of
/// `dy`: xᵀ·dy, block by block.
pub fn gradient(cx: &mut Recorder, w: Tensor, x: Tensor, dy: Tensor, from: usize) {
    let (units, k, n, step) = (cx.pass.rows, w.rows, w.cols, dy.cols);
    if !cx.form.cached {
        return cx.product(w.gradient(), x.t(), dy.columns(from, n), Epilogue::default());
    }
    let (parts, zeros) = (cx.parts(k * n), vec![0.0; n]);
    let reads = [x.by_rows(), dy.by_rows()];
    cx.rows("near gradient", units, reads, [parts.part()], move |_, [x, dy], [dw]| {
        let dy = Right { values: &dy[from..], terms: dy.len() / step, step: Some(step), cols: n };
        product((dw, n), Left { values: x, row: 1, term: k }, dy, Some(&zeros));
    })
    .costs(2 * x.rows * k * n);
    cx.sum(w.gradient(), parts);
}

/// The left side of a product: the steps from row to row, and from term to term.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    /// Its numbers.
    pub values: &'a [f32],
    /// From row to row.
    pub row: usize,
    /// From term to term.
    pub term: usize,
}

/// The right side: rows with a step from one to the next, or [`packed`] without one.
#[derive(Clone, Copy)]
pub struct Right<'a> {
    /// Its numbers.
    pub values: &'a [f32],
    /// Terms of a sum.
    pub terms: usize,
    /// From term to term, or none for panels.
    pub step: Option<usize>,
    /// Sums of a row.
    pub cols: usize,
}

impl<'a> Right<'a> {
    /// Of so many terms.
    pub fn packed(values: &'a [f32], terms: usize) -> Self {
        Self { values, terms, step: None, cols: values.len() / terms }
    }
}

/// C = A·B with sums that start from a row, or C + A·B without one. C is rows, with a step from one to the next.
///
/// # Panics
/// If an operand has fewer numbers.
pub fn product(c: (&mut [f32], usize), a: Left, b: Right, start: Option<&[f32]>) {
    product_on(Level::best(), c, a, b, start);
}

/// [`product`] with these vectors.
///
/// # Panics
/// As [`product`], and on a CPU without them.
pub fn product_on(
    level: Level,
    (c, c_step): (&mut [f32], usize),
    a: Left,
    b: Right,
    start: Option<&[f32]>,
) {
    assert!(level.available(), "this CPU has no such vectors");
    let (rows, k, n) = (c.len().div_ceil(c_step), b.terms, b.cols);
    if rows == 0 || k == 0 || n == 0 {
        return;
    }
    let ends = (rows - 1) * a.row + (k - 1) * a.term;
    assert!(
        (rows - 1) * c_step + n <= c.len()
            && ends < a.values.len()
            && (k - 1) * b.step.unwrap_or(n) + n <= b.values.len()
            && start.is_none_or(|start| start.len() >= n),
        "a product outside its rows"
    );
    let start = start.map_or(std::ptr::null(), <[f32]>::as_ptr);
    let job = Job {
        c: c.as_mut_ptr(),
        c_step,
        a: a.values.as_ptr(),
        a_row: a.row,
        a_term: a.term,
        b: b.values.as_ptr(),
        b_step: b.step.unwrap_or(0),
        k,
        n,
        start,
    };
    // SAFETY: the CPU has the instructions, and all rows and panels are there (above).
    unsafe {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512(&job, rows),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2(&job, rows),
            _ => job.panels::<[f32; 4], 4, 2>(rows),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(job: &Job, rows: usize) {
    // SAFETY: the caller's.
    unsafe { job.panels::<std::arch::x86_64::__m512, 8, 3>(rows) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(job: &Job, rows: usize) {
    // SAFETY: the caller's.
    unsafe { job.panels::<std::arch::x86_64::__m256, 6, 2>(rows) }
}

#[derive(Clone, Copy)]
struct Job {
    c: *mut f32,
    c_step: usize,
    a: *const f32,
    a_row: usize,
    a_term: usize,
    b: *const f32,
    /// From row to row of B, or 0 for panels.
    b_step: usize,
    k: usize,
    n: usize,
    /// What the sums begin with, or null for what C holds.
    start: *const f32,
}

impl Job {
    /// Panel by panel, `MOST` rows and `SIDE` vectors at a time: their sums, a row of B and two numbers of A fill the registers.
    #[inline(always)]
    unsafe fn panels<V: Vector, const MOST: usize, const SIDE: usize>(self, rows: usize) {
        for col in (0..self.n).step_by(wide(self.n)) {
            let width = wide(self.n).min(self.n - col);
            let (b, b_step) =
                if self.b_step == 0 { (col * self.k, width) } else { (col, self.b_step) };
            for row in (0..rows).step_by(MOST) {
                let start =
                    if self.start.is_null() { self.start } else { self.start.wrapping_add(col) };
                let part = Self {
                    c: self.c.wrapping_add(row * self.c_step + col),
                    a: self.a.wrapping_add(row * self.a_row),
                    b: self.b.wrapping_add(b),
                    b_step,
                    n: width,
                    start,
                    ..self
                };
                // SAFETY: the caller's; these rows and columns are there.
                unsafe {
                    match MOST.min(rows - row) {
                        1 => part.strip::<V, 1, SIDE>(),
                        2 => part.strip::<V, 2, SIDE>(),
                        3 => part.strip::<V, 3, SIDE>(),
                        4 => part.strip::<V, 4, SIDE>(),
                        5 => part.strip::<V, 5, SIDE>(),
                        6 => part.strip::<V, 6, SIDE>(),
                        7 => part.strip::<V, 7, SIDE>(),
                        _ => part.strip::<V, 8, SIDE>(),
                    }
                }
            }
        }
    }

    /// `M` rows of a panel: `SIDE` vectors side by side, fewer, then number by number.
    #[inline(always)]
    unsafe fn strip<V: Vector, const M: usize, const SIDE: usize>(&self) {
        let mut col = 0;
        // SAFETY: the caller's.
        unsafe {
            while col + SIDE * V::LANES <= self.n {
                self.tile::<V, M, SIDE>(col);
                col += SIDE * V::LANES;
            }
            if SIDE > 2 && col + 2 * V::LANES <= self.n {
                self.tile::<V, M, 2>(col);
                col += 2 * V::LANES;
            }
            if col + V::LANES <= self.n {
                self.tile::<V, M, 1>(col);
                col += V::LANES;
            }
            for (m, col) in (0..M).flat_map(|m| (col..self.n).map(move |col| (m, col))) {
                let to = self.c.add(m * self.c_step + col);
                let mut sum = if self.start.is_null() { *to } else { *self.start.add(col) };
                for k in 0..self.k {
                    let a = *self.a.add(m * self.a_row + k * self.a_term);
                    sum += a * *self.b.add(k * self.b_step + col);
                }
                *to = sum;
            }
        }
    }

    /// Sums in registers: `M` rows of `N` vectors.
    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "rows and vectors are counted, as in the formula"
    )]
    unsafe fn tile<V: Vector, const M: usize, const N: usize>(&self, col: usize) {
        // SAFETY: the caller's.
        unsafe {
            let mut sums = [[V::splat(0.0); N]; M];
            for m in 0..M {
                for n in 0..N {
                    let own = self.c.add(m * self.c_step).cast_const();
                    let from = if self.start.is_null() { own } else { self.start };
                    sums[m][n] = V::load(from.add(col + n * V::LANES));
                }
            }
            let (mut a, mut b) = (self.a, self.b.add(col));
            for _ in 0..self.k {
                let mut vectors = [V::splat(0.0); N];
                for n in 0..N {
                    vectors[n] = V::load(b.add(n * V::LANES));
                }
                for m in 0..M {
                    let number = V::splat(*a.add(m * self.a_row));
                    for n in 0..N {
                        sums[m][n] = number.mul_add(vectors[n], sums[m][n]);
                    }
                }
                a = a.wrapping_add(self.a_term);
                b = b.wrapping_add(self.b_step);
            }
            for m in 0..M {
                for n in 0..N {
                    sums[m][n].store(self.c.add(m * self.c_step + col + n * V::LANES));
                }
            }
        }
    }
}
