//! A check that a wrong kernel can't pass.
//!
//! A wrong kernel is often fast: it skips work. So every rung is checked before it is timed, and the check has to be
//! one that can't be fooled. The output is filled with a marker before the launch, so that an element that was never
//! written is seen. Strips of another marker lie around all three matrices: a write outside changes one, a read
//! outside brings a NaN into the sums. The result is compared with sums in f64 by a bound that says how far rounding
//! can go, in a form that no NaN passes.
//!
//! The last point is not a matter of course. A public collection of kernels compares with
//! `if (diff > 0.01) return false;`: with a NaN that is never true, so a kernel that wrote only NaNs passed
//! (`siboehm/SGEMM_CUDA`, `verify_matrix` in `src/runner.cu`). [`passes_as_in_the_wild`] is that comparison, for the tests.

use crate::{
    Result,
    gpu::{Arg, Buffer, Gpu, read_all, upload},
};
use lab::random::numbers;
use matmul::{Shape, team::share};
use std::fmt;

/// Products below the smallest normal number may be rounded to zero on a device.
const TINY: f64 = f32::MIN_POSITIVE as f64;
/// In C before the launch. A NaN with a pattern of its own, which arithmetic does not produce.
pub const UNWRITTEN: u32 = 0x7fc5_a5a5;
/// In the strips around the matrices: another NaN.
pub const STRIP: u32 = 0x7fca_cafe;
/// Numbers in a strip. Enough for what a bug in a small product reaches, and a
/// multiple of 64, so that the matrix begins where vectors may.
const STRIP_LEN: usize = 16 << 10;

/// A product whose result is known: random operands, and what the sums must be.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The lengths.
    pub shape: Shape,
    /// A, m×k, numbers from -1 to 1.
    pub a: Vec<f32>,
    /// B, k×n, numbers from -1 to 1.
    pub b: Vec<f32>,
    /// The rows of C that are known element for element: all of them in a small product.
    pub rows: Vec<usize>,
    /// Those rows in f64, and for each element the largest error that rounding explains.
    known: Vec<(f64, f64)>,
    /// A sign for each column of C.
    signs: Vec<f64>,
    /// For each row of C the sum of its elements, each with its column's sign, and the largest error of that.
    totals: Vec<(f64, f64)>,
}

/// A product that passed, or what is wrong with it.
pub type Verdict = std::result::Result<Passed, Fault>;

/// What is wrong with a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Elements of C that still hold [`UNWRITTEN`]: the kernel never wrote them, or it added to them.
    Unwritten {
        /// How many.
        count: usize,
        /// The first one's row and column.
        first: (usize, usize),
    },
    /// An element that is no number.
    NotANumber {
        /// How many.
        count: usize,
        /// The first one's row and column.
        first: (usize, usize),
    },
    /// Elements further from the sum in f64 than rounding explains.
    Inaccurate {
        /// How many.
        count: usize,
        /// The first one's row and column.
        first: (usize, usize),
        /// What it is.
        got: f32,
        /// What it should be.
        want: f64,
        /// How far off it may be.
        allowed: f64,
    },
    /// Rows whose elements do not add up to what they should.
    WrongRow {
        /// How many.
        count: usize,
        /// The first one.
        first: usize,
    },
    /// The kernel wrote before or after a matrix.
    WroteOutside {
        /// Which one: `A`, `B` or `C`.
        matrix: char,
        /// The offset, in elements from the matrix's first; negative before it.
        at: isize,
    },
    /// The kernel changed one of its inputs.
    ChangedInput {
        /// Which one: `A` or `B`.
        matrix: char,
        /// The offset, in elements from its first.
        at: usize,
    },
}

impl Fault {
    /// One word for a table.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unwritten { .. } => "unwritten",
            Self::NotANumber { .. } => "not a number",
            Self::Inaccurate { .. } | Self::WrongRow { .. } => "wrong sums",
            Self::WroteOutside { .. } => "wrote outside",
            Self::ChangedInput { .. } => "changed an input",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Self::Unwritten { count, first: (i, j) } => write!(
                f,
                "{count} elements of C hold what was there before the launch, the first in row {i}, column {j}: they \
                 were never written, or added to"
            ),
            Self::NotANumber { count, first: (i, j) } => write!(
                f,
                "{count} elements of C are no numbers, the first in row {i}, column {j}: the kernel read what it \
                 had not written, or outside a matrix"
            ),
            Self::Inaccurate { count, first: (i, j), got, want, allowed } => write!(
                f,
                "{count} elements of C are wrong, the first in row {i}, column {j}: {got} instead of {want:.6}, and \
                 rounding explains no more than {allowed:.1e}"
            ),
            Self::WrongRow { count, first } => write!(
                f,
                "{count} rows of C do not add up to what they should, the first is row {first}"
            ),
            Self::WroteOutside { matrix, at } if at < 0 => {
                write!(f, "the kernel wrote {} elements before the start of {matrix}", -at)
            }
            Self::WroteOutside { matrix, at } => {
                write!(f, "the kernel wrote outside {matrix}, {at} elements after its start")
            }
            Self::ChangedInput { matrix, at } => {
                write!(f, "the kernel changed its input {matrix}, {at} elements after its start")
            }
        }
    }
}

/// What a product that passed was like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// The largest error of an element, as a fraction of what rounding explains: from 0 to 1.
    pub of_allowed: f64,
    /// The root of the mean squared error over that of the mean square.
    pub relative: f64,
}

/// Multiplications and additions up to which every element of C is compared with its sum in f64.
const ALL_UP_TO: f64 = 2e8;
/// Rows that are compared in larger products.
const SOME_ROWS: usize = 16;

impl Problem {
    /// Random operands for a product of `shape`, always the same ones for the same `seed`.
    pub fn random(shape: Shape, seed: u64) -> Self {
        let a = numbers(shape.m * shape.k, 2 * seed + 1);
        let b = numbers(shape.k * shape.n, 2 * seed + 2);
        Self::new(shape, a, b, 1.0)
    }

    /// The same with operands that bf16 holds exactly, for kernels that round to it. Tensor cores cut the last bits
    /// off where other units round, so four times the error is allowed (Fasi, Higham, Mikaitis and Pranesh,
    /// "Numerical behavior of NVIDIA tensor cores", `PeerJ` Computer Science 7:e330, 2021).
    pub fn random_bf16(shape: Shape, seed: u64) -> Self {
        let round = |x: Vec<f32>| x.into_iter().map(|x| half::bf16::from_f32(x).to_f32()).collect();
        let a = round(numbers(shape.m * shape.k, 2 * seed + 1));
        let b = round(numbers(shape.k * shape.n, 2 * seed + 2));
        Self::new(shape, a, b, 4.0)
    }

    /// A symmetric A and a symmetric B, for products that exchanged indices would get right.
    pub fn symmetric(n: usize, seed: u64) -> Self {
        let symmetric = |seed| {
            let mut x = numbers(n * n, seed);
            for i in 0..n {
                for j in 0..i {
                    x[i * n + j] = x[j * n + i];
                }
            }
            x
        };
        Self::new(Shape::square(n), symmetric(2 * seed + 1), symmetric(2 * seed + 2), 1.0)
    }

    fn new(shape: Shape, a: Vec<f32>, b: Vec<f32>, slack: f64) -> Self {
        let Shape { m, k, n } = shape;
        let rows: Vec<usize> = if shape.operations() / 2.0 <= ALL_UP_TO || m <= SOME_ROWS {
            (0..m).collect()
        } else {
            // The first, the last, and others that are at no regular distance.
            (0..SOME_ROWS)
                .map(|i| (i * (m - 1) + i * i % 7) / (SOME_ROWS - 1))
                .map(|i| i.min(m - 1))
                .collect()
        };
        let mut known = vec![(0.0, 0.0); rows.len() * n];
        for (row, &i) in known.chunks_mut(n.max(1)).zip(&rows) {
            for p in 0..k {
                let x = f64::from(a[i * k + p]);
                for (sum, &y) in row.iter_mut().zip(&b[p * n..][..n]) {
                    let product = x * f64::from(y);
                    *sum = (sum.0 + product, sum.1 + product.abs());
                }
            }
        }
        for (_, allowed) in &mut known {
            *allowed = slack * rounding(k) * *allowed + TINY * k as f64;
        }
        let signs: Vec<f64> =
            numbers(n, 77).iter().map(|&x| if x < 0.0 { -1.0 } else { 1.0 }).collect();
        let mut totals = totals(shape, &a, &b, &signs);
        for (_, allowed) in &mut totals {
            *allowed *= slack;
        }
        Self { shape, a, b, rows, known, signs, totals }
    }

    /// Whether every element of C is compared with its own sum; otherwise some rows are, and the others' totals.
    pub fn compares_all(&self) -> bool {
        self.rows.len() == self.shape.m
    }

    /// C in f64, as far as it is known element for element.
    pub fn exact(&self) -> Vec<f64> {
        self.known.iter().map(|(sum, _)| *sum).collect()
    }

    /// Compares C, which was full of [`UNWRITTEN`] before the kernel ran.
    ///
    /// # Errors
    /// The first kind of fault that it finds.
    pub fn check(&self, c: &[f32]) -> Verdict {
        let at = |i: usize| (i / self.shape.n, i % self.shape.n);
        let find = |wrong: &(dyn Fn(f32) -> bool + Sync)| {
            let found = matching(c.len(), 1, &|i| wrong(c[i]));
            found.first().map(|&first| (found.len(), at(first)))
        };
        if let Some((count, first)) = find(&|x| x.to_bits() == UNWRITTEN) {
            return Err(Fault::Unwritten { count, first });
        }
        if let Some((count, first)) = find(&|x| !x.is_finite()) {
            return Err(Fault::NotANumber { count, first });
        }
        self.check_rows(c)?;
        self.check_totals(c)
    }

    fn check_rows(&self, c: &[f32]) -> std::result::Result<(), Fault> {
        let mut wrong = 0;
        let mut first = None;
        for (i, j, got, (want, allowed)) in self.compared(c) {
            // ANCHOR: right
            // Written so that whatever is not surely within the bound is wrong.
            let right = (f64::from(got) - want).abs() <= allowed;
            if !right {
                wrong += 1;
                first = first.or(Some((i, j, got, want, allowed)));
            }
            // ANCHOR_END: right
        }
        match first {
            None => Ok(()),
            Some((i, j, got, want, allowed)) => {
                Err(Fault::Inaccurate { count: wrong, first: (i, j), got, want, allowed })
            }
        }
    }

    /// Freivalds' check for the rows that are not compared element for element: C·x = A·(B·x) for signs x.
    fn check_totals(&self, c: &[f32]) -> Verdict {
        let n = self.shape.n;
        let wrong = |i: usize| {
            let row = &c[i * n..][..n];
            let total: f64 =
                row.iter().zip(&self.signs).map(|(&x, sign)| f64::from(x) * sign).sum();
            let (want, allowed) = self.totals[i];
            let right = (total - want).abs() <= allowed;
            !right
        };
        let rows: Vec<usize> =
            if self.compares_all() { Vec::new() } else { matching(self.shape.m, n, &wrong) };
        if let Some(&first) = rows.first() {
            return Err(Fault::WrongRow { count: rows.len(), first });
        }
        let (mut worst, mut error, mut norm) = (0.0_f64, 0.0, 0.0);
        for (_, _, got, (want, allowed)) in self.compared(c) {
            let off = (f64::from(got) - want).abs();
            // Without terms there is nothing to round, and 0 is right.
            worst = worst.max(if off == 0.0 { 0.0 } else { off / allowed });
            error += off * off;
            norm += want * want;
        }
        let relative = if norm == 0.0 { 0.0 } else { (error / norm).sqrt() };
        Ok(Passed { of_allowed: worst, relative })
    }

    /// Row, column, computed element, and what is known of it.
    fn compared<'s>(
        &'s self,
        c: &'s [f32],
    ) -> impl Iterator<Item = (usize, usize, f32, (f64, f64))> + 's {
        let n = self.shape.n;
        self.rows.iter().enumerate().flat_map(move |(row, &i)| {
            (0..n).map(move |j| (i, j, c[i * n + j], self.known[row * n + j]))
        })
    }
}

/// The numbers below `count` of which `of` is true, in order. All threads look where there is much to look at: `work`
/// elements for each.
pub fn matching(count: usize, work: usize, of: &(dyn Fn(usize) -> bool + Sync)) -> Vec<usize> {
    let threads = if count * work < 1 << 22 { 1 } else { matmul::parallel::available() };
    let part = count.div_ceil(threads).max(1);
    let parts = (0..count).step_by(part).map(|from| from..(from + part).min(count));
    let mut parts: Vec<_> = parts.map(|part| (part, Vec::new())).collect();
    share(&mut parts, |(part, found)| found.extend(part.filter(|&i| of(i))));
    parts.into_iter().flat_map(|(_, found)| found).collect()
}

// ANCHOR: rounding
/// How far a sum of `k` rounded products in f32 may be off, relative to the
/// sum of the products' magnitudes. In any order: no more than about k·2⁻²⁴
/// (Higham, *Accuracy and Stability*, section 3.1). With errors that are as
/// often up as down, fewer than k sums in 10¹³ are off by 8·√k·2⁻²⁴ (Higham and
/// Mary 2019). The lower of the two is small enough that a missing term shows.
pub fn rounding(k: usize) -> f64 {
    let (k, unit) = (k as f64, 2_f64.powi(-24));
    k.min(8.0 * k.sqrt()) * unit / (1.0 - k * unit).max(0.5)
}
// ANCHOR_END: rounding

/// For each row of C = A·B its total with these signs for the columns, as A·(B·signs), and how far a computed row's
/// total may be off.
///
/// The sum of n errors with random signs is about √n of them, not n: the bound is eight times that, from the mean
/// error that [`rounding`] allows in the row.
fn totals(shape: Shape, a: &[f32], b: &[f32], signs: &[f64]) -> Vec<(f64, f64)> {
    let Shape { k, n, .. } = shape;
    let row = |p: usize| {
        let row = &b[p * n..][..n];
        row.iter().zip(signs).fold((0.0, 0.0), |(total, size), (&y, sign)| {
            (total + sign * f64::from(y), size + f64::from(y).abs())
        })
    };
    let b_totals: Vec<(f64, f64)> = (0..k).map(row).collect();
    let spread = 8.0 / (n.max(1) as f64).sqrt();
    (0..shape.m)
        .map(|i| {
            let (total, size) =
                a[i * k..][..k].iter().zip(&b_totals).fold((0.0, 0.0), |(total, size), (&x, y)| {
                    let x = f64::from(x);
                    (total + x * y.0, size + x.abs() * y.1)
                });
            (total, spread * (rounding(k) * size + TINY * (n * k) as f64))
        })
        .collect()
}

/// A matrix on a device between two strips of [`STRIP`].
struct Fenced {
    buffer: Buffer,
    len: usize,
    name: char,
}

impl Fenced {
    /// On the device, full of `data`.
    fn new(gpu: &dyn Gpu, name: char, data: impl ExactSizeIterator<Item = u32>) -> Result<Self> {
        let len = data.len();
        let strip = || std::iter::repeat_n(STRIP, STRIP_LEN);
        let all: Vec<u32> = strip().chain(data).chain(strip()).collect();
        Ok(Self { buffer: upload(gpu, &all)?, len, name })
    }

    /// The matrix, as a kernel sees it.
    fn arg(&self) -> Arg<'_> {
        Arg::Part { buffer: &self.buffer, offset: STRIP_LEN * size_of::<f32>() }
    }

    /// The matrix as it is now, if nothing was written next to it.
    fn read(&self, gpu: &dyn Gpu) -> Result<std::result::Result<Vec<u32>, Fault>> {
        let mut all: Vec<u32> = read_all(gpu, &self.buffer, self.len + 2 * STRIP_LEN)?;
        let inside = STRIP_LEN..STRIP_LEN + self.len;
        let outside = |at: usize| !inside.contains(&at);
        let changed = all.iter().enumerate().position(|(at, &x)| outside(at) && x != STRIP);
        if let Some(at) = changed {
            let at = at as isize - STRIP_LEN as isize;
            return Ok(Err(Fault::WroteOutside { matrix: self.name, at }));
        }
        all.truncate(inside.end);
        Ok(Ok(all.split_off(inside.start)))
    }
}

/// Lets `launch` compute the problem's product, from A and B into C, and checks
/// C, the inputs, and the strips around all three.
///
/// # Errors
/// What the device fails with. A wrong product is no error but a [`Fault`].
pub fn verify(
    gpu: &dyn Gpu,
    problem: &Problem,
    launch: impl FnOnce([Arg; 3]) -> Result<()>,
) -> Result<Verdict> {
    Verifier::new(gpu, problem)?.run(gpu, launch)
}

/// A problem on a device, for one kernel after the other.
pub struct Verifier<'p> {
    problem: &'p Problem,
    a: Fenced,
    b: Fenced,
    c: Fenced,
    /// C with its strips as it is before a launch.
    blank: Fenced,
}

impl<'p> Verifier<'p> {
    /// Copies A and B to the device, between strips.
    ///
    /// # Errors
    /// The device's error.
    pub fn new(gpu: &dyn Gpu, problem: &'p Problem) -> Result<Self> {
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let a = Fenced::new(gpu, 'A', bits(&problem.a).into_iter())?;
        let b = Fenced::new(gpu, 'B', bits(&problem.b).into_iter())?;
        let elements = problem.shape.m * problem.shape.n;
        let unwritten = || Fenced::new(gpu, 'C', vec![UNWRITTEN; elements].into_iter());
        Ok(Self { problem, a, b, c: unwritten()?, blank: unwritten()? })
    }

    /// As [`verify`]. Kernels that follow find C unwritten again. Inputs of more than 2²⁵ numbers are not read back: that
    /// a kernel changes none shows in smaller products.
    ///
    /// # Errors
    /// As [`verify`].
    // ANCHOR: verify
    pub fn run(
        &self,
        gpu: &dyn Gpu,
        launch: impl FnOnce([Arg; 3]) -> Result<()>,
    ) -> Result<Verdict> {
        let Self { a, b, c, blank, .. } = self;
        gpu.copy(&blank.buffer, &c.buffer, c.buffer.bytes)?;
        launch([a.arg(), b.arg(), c.arg()])?;
        gpu.finish()?;
        let inputs = match a.len.max(b.len) {
            ..=INPUTS_UP_TO => Some([a.read(gpu)?, b.read(gpu)?]),
            _ => None,
        };
        Ok(judge(self.problem, inputs, c.read(gpu)?))
    }
    // ANCHOR_END: verify
}

/// Numbers of an input that is compared with what it was.
const INPUTS_UP_TO: usize = 1 << 25;

/// A matrix as it was read back.
type Back = std::result::Result<Vec<u32>, Fault>;

/// The verdict on the three matrices as they were read back.
///
/// # Errors
/// The first fault that is found.
pub fn judge(problem: &Problem, inputs: Option<[Back; 2]>, c: Back) -> Verdict {
    let c = c?;
    let inputs = inputs.into_iter().flatten().zip([('A', &problem.a), ('B', &problem.b)]);
    for (now, (matrix, was)) in inputs {
        let now = now?;
        let changed = now.iter().zip(was).position(|(now, was)| *now != was.to_bits());
        if let Some(at) = changed {
            return Err(Fault::ChangedInput { matrix, at });
        }
    }
    let c: Vec<f32> = c.into_iter().map(f32::from_bits).collect();
    problem.check(&c)
}

// ANCHOR: in_the_wild
/// How a public collection of kernels once compared: any difference that is
/// larger than 0.01 is a bug. A NaN is larger than nothing, so it passes.
pub fn passes_as_in_the_wild(want: &[f64], got: &[f32]) -> bool {
    for (want, got) in want.iter().zip(got) {
        let difference = (want - f64::from(*got)).abs();
        if difference > 0.01 {
            return false;
        }
    }
    true
}
// ANCHOR_END: in_the_wild
