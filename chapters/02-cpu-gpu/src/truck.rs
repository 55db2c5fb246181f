//! The sports car and the truck: the same job for the CPU and for a device, from one element to millions.
//!
//! A car is off at once and carries little; a truck has to be loaded, drives, and is unloaded. Here are the two jobs
//! of the comparison (a map over numbers and a product of matrices), the line t = α + β·size that describes a trip,
//! and the size from which the truck wins.

use crate::{
    Error, Result,
    gpu::{Arg, Buffer, Gpu, Kernel, Launch, kernel},
    ladder::{self, Compiled},
};
use matmul::{MatMut, MatRef, Options, Shape, Threads, sgemm};
use std::thread;

/// The map's kernel after the header that it needs.
pub const MAP: &str = kernel!("map.cl");

/// Threads of a block of the map's kernel.
const BLOCK: usize = 256;

/// The map on the CPU: `y[i]` is `x[i]` after `steps` times "halve, add one".
/// Each thread takes one piece, in vectors as wide as the CPU has them.
///
/// # Panics
/// If `x` and `y` differ in length.
pub fn map_on_cpu(x: &[f32], y: &mut [f32], steps: u32, threads: usize) {
    assert_eq!(x.len(), y.len(), "x and y differ in length");
    let piece = x.len().div_ceil(threads.max(1)).max(1);
    if piece >= x.len() {
        return map_piece(x, y, steps);
    }
    thread::scope(|scope| {
        let mut pieces = x.chunks(piece).zip(y.chunks_mut(piece));
        let mine = pieces.next(); // this thread also works
        for (x, y) in pieces {
            scope.spawn(move || map_piece(x, y, steps));
        }
        if let Some((x, y)) = mine {
            map_piece(x, y, steps);
        }
    });
}

/// One thread's piece, by the widest vectors of this CPU.
pub fn map_piece(x: &[f32], y: &mut [f32], steps: u32) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has AVX-512F.
            return unsafe { map_avx512(x, y, steps) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has AVX2 and FMA.
            return unsafe { map_avx2(x, y, steps) };
        }
        map_chunks::<64>(x, y, steps, |value| value * 0.5 + 1.0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    map_chunks::<64>(x, y, steps, |value| value.mul_add(0.5, 1.0));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn map_avx512(x: &[f32], y: &mut [f32], steps: u32) {
    map_chunks::<256>(x, y, steps, |value| value.mul_add(0.5, 1.0));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn map_avx2(x: &[f32], y: &mut [f32], steps: u32) {
    map_chunks::<64>(x, y, steps, |value| value.mul_add(0.5, 1.0));
}

/// `N` numbers at a time stay in registers for all steps: enough that no step waits for the one before.
#[inline(always)]
pub fn map_chunks<const N: usize>(x: &[f32], y: &mut [f32], steps: u32, step: impl Fn(f32) -> f32) {
    let (xs, rest) = x.as_chunks::<N>();
    let (ys, rest_of_y) = y.as_chunks_mut::<N>();
    for (x, y) in xs.iter().zip(ys) {
        let mut values = *x;
        for _ in 0..steps {
            for value in &mut values {
                *value = step(*value);
            }
        }
        *y = values;
    }
    for (x, y) in rest.iter().zip(rest_of_y) {
        *y = (0..steps).fold(*x, |value, _| step(value));
    }
}

/// A product of n×n matrices on the CPU, chapter 1's best, with one thread or with all.
///
/// # Errors
/// If a slice is not n×n.
pub fn product_on_cpu(a: &[f32], b: &[f32], c: &mut [f32], n: usize, all: bool) -> Result<()> {
    let (a, b) = (MatRef::new(a, n, n)?, MatRef::new(b, n, n)?);
    let c = MatMut::new(c, n, n)?;
    let threads = if all { Threads::All } else { Threads::One };
    Ok(sgemm(c, a, b, Options { threads, ..Options::default() })?)
}

/// A job that waits on a device: memory for the largest size, and a compiled kernel.
pub trait Trip {
    /// Brings the input of a job of this size onto the device.
    ///
    /// # Errors
    /// If there are too few bytes, or the device's memory is too small.
    fn load(&self, size: usize, input: &[u8]) -> Result<()>;
    /// Starts the job and waits for its end.
    ///
    /// # Errors
    /// If the device fails.
    fn drive(&self, size: usize) -> Result<()>;
    /// Brings the result back.
    ///
    /// # Errors
    /// If the device fails.
    fn unload(&self, size: usize, output: &mut [u8]) -> Result<()>;
}

/// The map on a device.
pub struct MapTrip<'g> {
    gpu: &'g dyn Gpu,
    kernel: Kernel,
    x: Buffer,
    y: Buffer,
}

impl<'g> MapTrip<'g> {
    /// Compiles the map with `steps` steps and reserves memory for `most` numbers.
    ///
    /// # Errors
    /// The compiler's words, or a message if the memory is not there.
    pub fn new(gpu: &'g dyn Gpu, steps: u32, most: usize) -> Result<Self> {
        let kernel = gpu.compile(MAP, &[("STEPS", steps.to_string())], "map")?;
        Ok(Self { gpu, kernel, x: gpu.alloc(4 * most)?, y: gpu.alloc(4 * most)? })
    }
}

impl Trip for MapTrip<'_> {
    fn load(&self, size: usize, input: &[u8]) -> Result<()> {
        self.gpu.write(&self.x, bytes_of(input, 4 * size)?)
    }

    // ANCHOR: drive
    fn drive(&self, size: usize) -> Result<()> {
        let blocks = Launch::new([size.div_ceil(BLOCK), 1], [BLOCK, 1]);
        let count = Arg::U32(size as u32);
        let args = [Arg::Buffer(&self.x), Arg::Buffer(&self.y), count];
        self.gpu.launch(&self.kernel, blocks, &args)?;
        self.gpu.finish()
    }
    // ANCHOR_END: drive

    fn unload(&self, size: usize, output: &mut [u8]) -> Result<()> {
        self.gpu.read(&self.y, bytes_of_mut(output, 4 * size)?)
    }
}

/// Products of n×n matrices on a device, by one rung of the ladder.
pub struct ProductTrip<'g> {
    gpu: &'g dyn Gpu,
    /// For rows of multiples of four, and for all others.
    kernels: [Compiled; 2],
    a: Buffer,
    b: Buffer,
    c: Buffer,
}

impl<'g> ProductTrip<'g> {
    /// Compiles the rung and reserves memory for matrices of up to `most`×`most`.
    ///
    /// # Errors
    /// As [`MapTrip::new`].
    pub fn new(gpu: &'g dyn Gpu, rung: &ladder::Rung, most: usize) -> Result<Self> {
        let kernels = [rung.compile(gpu, Shape::square(4))?, rung.compile(gpu, Shape::square(1))?];
        let alloc = || gpu.alloc(4 * most * most);
        Ok(Self { gpu, kernels, a: alloc()?, b: alloc()?, c: alloc()? })
    }
}

impl Trip for ProductTrip<'_> {
    /// A and B one after the other in `input`, as much of each as n×n needs.
    fn load(&self, n: usize, input: &[u8]) -> Result<()> {
        let bytes = 4 * n * n;
        let both = bytes_of(input, 2 * bytes)?;
        self.gpu.write(&self.a, &both[..bytes])?;
        self.gpu.write(&self.b, &both[bytes..])
    }

    fn drive(&self, n: usize) -> Result<()> {
        let shape = Shape::square(n);
        let kernel = &self.kernels[usize::from(!ladder::wide(shape))];
        let abc = [Arg::Buffer(&self.a), Arg::Buffer(&self.b), Arg::Buffer(&self.c)];
        kernel.launch(self.gpu, abc, shape)?;
        self.gpu.finish()
    }

    fn unload(&self, n: usize, output: &mut [u8]) -> Result<()> {
        self.gpu.read(&self.c, bytes_of_mut(output, 4 * n * n)?)
    }
}

fn too_short(have: usize, need: usize) -> Error {
    Error::message(format!("a job of {need} bytes does not fit {have} bytes"))
}

fn bytes_of(bytes: &[u8], need: usize) -> Result<&[u8]> {
    bytes.get(..need).ok_or_else(|| too_short(bytes.len(), need))
}

fn bytes_of_mut(bytes: &mut [u8], need: usize) -> Result<&mut [u8]> {
    let have = bytes.len();
    bytes.get_mut(..need).ok_or_else(|| too_short(have, need))
}

/// A straight line through measured times: t = α + β·size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Latency: the seconds that the smallest job takes, α.
    pub alpha: f64,
    /// Seconds for each unit of size, β. Its inverse is the throughput.
    pub beta: f64,
}

impl Line {
    /// The line that fits these points (size, seconds) best: see [`least_squares`].
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        least_squares(points).map(|[alpha, beta]| Self { alpha, beta })
    }

    /// The seconds that a job of this size takes by the line.
    pub fn at(self, size: f64) -> f64 {
        self.alpha + self.beta * size
    }
}

/// The α and β that fit measured points (size, seconds) best: the
/// least sum of squared *relative* errors, so that microseconds count
/// as much as seconds. Neither is below zero. `None` for fewer than
/// two sizes.
// ANCHOR: least_squares
pub fn least_squares(measured: &[(f64, f64)]) -> Option<[f64; 2]> {
    // The error relative to t is α·(1/t) + β·(n/t) − 1.
    let (mut aa, mut ab, mut bb, mut a, mut b) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (size, seconds) in measured.iter().filter(|(_, t)| *t > 0.0) {
        let (x, y) = (1.0 / seconds, size / seconds);
        aa += x * x;
        ab += x * y;
        bb += y * y;
        a += x;
        b += y;
    }
    let determinant = aa * bb - ab * ab;
    if determinant <= 1e-12 * aa * bb {
        return None;
    }
    let alpha = (a * bb - b * ab) / determinant;
    let beta = (b * aa - a * ab) / determinant;
    // On the border of what makes sense, the other one fits alone.
    Some(match (alpha < 0.0, beta < 0.0) {
        (true, _) => [0.0, b / bb],
        (_, true) => [a / aa, 0.0],
        _ => [alpha, beta],
    })
}
// ANCHOR_END: least_squares

/// Above which size a device is faster than the CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossover {
    /// From the smallest size that was measured.
    Always,
    /// From this size.
    At(f64),
    /// Not at the largest size that was measured, which is this one.
    Never(f64),
}

/// The size above which `truck` stays faster than `car`, from points (size, seconds) of both in rising order.
/// Between two sizes the ratio of times is taken as a straight line on logarithmic scales. Sizes that only one of them
/// has do not count; `None` if no size has both.
#[allow(clippy::float_cmp)] // sizes are the same numbers, not results
pub fn crossover(car: &[(f64, f64)], truck: &[(f64, f64)]) -> Option<Crossover> {
    // How much longer the truck takes, as a logarithm: below zero it wins.
    let ratios: Vec<(f64, f64)> = truck
        .iter()
        .filter_map(|&(size, seconds)| {
            let (_, other) = car.iter().find(|(other, _)| *other == size)?;
            Some((size, (seconds / other).ln()))
        })
        .collect();
    let &(largest, last) = ratios.last()?;
    if last >= 0.0 {
        return Some(Crossover::Never(largest));
    }
    let Some(lost) = ratios.iter().rposition(|(_, ratio)| *ratio >= 0.0) else {
        return Some(Crossover::Always);
    };
    let ((x0, r0), (x1, r1)) = (ratios[lost], ratios[lost + 1]);
    let part = r0 / (r0 - r1);
    Some(Crossover::At(x0 * (x1 / x0).powf(part)))
}

/// The same for two formulas, looked for from `smallest` to `largest` on a grid of a hundred sizes each decade.
pub fn crossover_of(
    car: impl Fn(f64) -> f64,
    truck: impl Fn(f64) -> f64,
    smallest: f64,
    largest: f64,
) -> Option<Crossover> {
    if !(smallest > 0.0 && largest >= smallest) {
        return None;
    }
    let steps = (100.0 * (largest / smallest).log10()).ceil().max(1.0) as usize;
    let sizes: Vec<f64> = (0..=steps)
        .map(|step| smallest * (largest / smallest).powf(step as f64 / steps as f64))
        .collect();
    let times = |f: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        sizes.iter().map(|&size| (size, f(size))).collect()
    };
    crossover(&times(&car), &times(&truck))
}
