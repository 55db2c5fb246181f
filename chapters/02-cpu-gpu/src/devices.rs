//! How many, how wide, how fast: cores, lanes and clocks of this machine and of a few that are well known.
//!
//! A *lane* is what makes one f32 multiply-add each clock. A CPU's core has 8 to 32 of them in its vector units; what a
//! GPU's maker calls a core is one lane.

use crate::gpu::{About, Kind};
use lab::{Plan, Samples, measure, peak, record::Limit};
use std::hint::black_box;

/// Additions of the chain in [`clock`], each of which needs the result of the one before.
const CHAIN: u64 = 1 << 20;

/// The clock of one core of the CPU in Hz while it works: additions that wait for each other take one clock each.
/// `None` on an architecture for which no such chain is written.
pub fn clock(plan: Plan) -> Option<Samples> {
    chain(1)?;
    let samples = measure::time(plan, || {
        black_box(chain(CHAIN));
    });
    Some(samples.map(|seconds| CHAIN as f64 / seconds))
}

/// `count` additions, a multiple of 16 or less, in a chain: each doubles the
/// last one's result, so that no two can be made at the same time.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[allow(clippy::unnecessary_wraps)] // others have none
pub fn chain(count: u64) -> Option<u64> {
    let mut x = 1_u64;
    // SAFETY: registers only; the loop ends, since `rounds` is at least one.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            #[cfg(target_arch = "x86_64")]
            "add {x}, {x}",
            #[cfg(target_arch = "aarch64")]
            "add {x}, {x}, {x}",
            ".endr",
            #[cfg(target_arch = "x86_64")]
            "dec {rounds}; jnz 2b",
            #[cfg(target_arch = "aarch64")]
            "subs {rounds}, {rounds}, #1; b.ne 2b",
            x = inout(reg) x,
            rounds = inout(reg) count.div_ceil(16).max(1) => _,
            options(nomem, nostack),
        );
    }
    Some(x)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain(_: u64) -> Option<u64> {
    None
}

/// The f32 lanes of `threads` cores: the multiply-adds that they reach in a second, for each clock of this length.
pub fn lanes_of_cpu(threads: usize, clock: f64) -> f64 {
    peak::fma_f32(threads).value / 2.0 / clock
}

/// What a kernel multiplies. The sums are in f32 in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The numbers as they are.
    F32,
    /// Rounded to bf16.
    Bf16,
}

/// What a multiprocessor does in a cycle.
struct Rates {
    /// Multiply-adds in f32: its lanes.
    f32: u32,
    /// What its tensor cores do with bf16, where that is known.
    bf16: Option<TensorRate>,
}

/// A rate of tensor cores, from a data sheet.
struct TensorRate {
    /// Operations in a cycle.
    operations: f64,
    /// The clock of the data sheet in Hz. A GPU's highest clock may be above it, and tensor cores do not reach that.
    clock: f64,
}

/// The rates of a generation by its compute capability, or `None` where they are not known.
///
/// Sources: CUDA C++ programming guide, "Arithmetic instructions", the throughput of 32-bit multiply-add; for bf16 the
/// data sheets: A100, 312 TFLOP/s with 108 multiprocessors at 1.41 GHz; H100, 989 TFLOP/s with 132 at 1.83 GHz.
fn rates(capability: (u32, u32)) -> Option<Rates> {
    let f32 = match capability {
        (6 | 8, 0) | (7, _) => 64,
        (5 | 6 | 8..=12, _) => 128,
        _ => return None,
    };
    let bf16 = match capability {
        (8, 0) => Some(TensorRate { operations: 2048.0, clock: 1.41e9 }),
        (9, 0) => Some(TensorRate { operations: 4096.0, clock: 1.83e9 }),
        _ => None,
    };
    Some(Rates { f32, bf16 })
}

/// The f32 lanes of a device, or `None` where its maker's number for the generation is not known: OpenCL does not tell
/// how wide a compute unit is.
pub fn lanes_of(about: &About) -> Option<f64> {
    let each = rates(about.compute_capability?)?.f32;
    Some(f64::from(about.compute_units) * f64::from(each))
}

/// The most that a device can do with inputs of this precision, as far as that is known.
pub fn peak_of(about: &About, precision: Precision) -> Option<Limit> {
    if about.kind == Kind::Cpu {
        let f32 = precision == Precision::F32;
        return f32.then(|| peak::fma_f32(matmul::parallel::available()));
    }
    let highest = about.clock_hz?;
    let (name, rate) = match precision {
        Precision::F32 => ("f32 peak at the highest clock", 2.0 * lanes_of(about)? * highest),
        Precision::Bf16 => {
            let TensorRate { operations, clock } = rates(about.compute_capability?)?.bf16?;
            let units = f64::from(about.compute_units);
            (
                "tensor cores' peak at the data sheet's clock",
                units * operations * highest.min(clock),
            )
        }
    };
    Some(Limit { name: name.to_owned(), value: rate })
}

/// A device that is well known, from its maker's data.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The maker's name.
    pub name: String,
    /// Whether it is a GPU.
    pub gpu: bool,
    /// When it came out.
    pub year: u32,
    /// Cores of a CPU, multiprocessors of a GPU.
    pub units: u32,
    /// f32 multiply-adds each clock.
    pub lanes: u32,
    /// The boost clock in Hz.
    pub clock: f64,
}

/// The table that the page shows, with its sources: `data/devices.md`.
pub const KNOWN: &str = include_str!("../data/devices.md");

/// The devices of `data/devices.md`.
pub fn known() -> Vec<Known> {
    KNOWN.lines().filter_map(row).collect()
}

/// One row of the table; heads and rules are none.
pub fn row(line: &str) -> Option<Known> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    let [name, kind, year, units, lanes, clock, _source] = cells[..] else { return None };
    Some(Known {
        name: name.to_owned(),
        gpu: match kind {
            "GPU" => true,
            "CPU" => false,
            _ => return None,
        },
        year: year.parse().ok()?,
        units: units.parse().ok()?,
        lanes: lanes.parse().ok()?,
        clock: 1e9 * clock.strip_suffix("GHz")?.trim().parse::<f64>().ok()?,
    })
}
