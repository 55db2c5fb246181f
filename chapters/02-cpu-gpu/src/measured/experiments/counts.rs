//! What the simulated machine counts: traffic, conflicts and divergence of each kernel, and occupancy.
//!
//! Counts need no clock. They are the same on every machine, and the page quotes them as its predictions.

use super::devices::number_or;
use crate::simt::{
    Block, Counts, KernelFault, Limits, Machine, ladder,
    lessons::{self, SIDE},
    occupancy,
};
use lab::{Experiment, Key, Recorder, Result, Samples, random::numbers};
use matmul::Shape;

/// The size of the ladder's product. A simulated thread is slow, and the counts follow the size.
pub const SIZE: usize = 128;

lab::keys! {
    /// Sectors of each load from global memory.
    SECTORS_PER_LOAD: simulated "cpu_gpu.counts.sectors_per_load", Number, ["rung", "n"];
    /// Bytes between global memory and the multiprocessors.
    MOVED: simulated "cpu_gpu.counts.moved", Bytes, ["rung", "n"];
    /// The fraction of them that a thread requested.
    EFFICIENCY: simulated "cpu_gpu.counts.efficiency", Share, ["rung", "n"];
    /// Operations for each byte.
    pub INTENSITY: simulated "cpu_gpu.counts.intensity", Number, ["rung", "n"];
    /// Wavefronts of shared memory.
    SHARED_PASSES: simulated "cpu_gpu.counts.shared_passes", Count, ["rung", "n"];
    /// Those of them that bank conflicts cost.
    CONFLICTS: simulated "cpu_gpu.counts.conflicts", Count, ["rung", "n"];
    /// Operations for each wavefront.
    FLOPS_PER_PASS: simulated "cpu_gpu.counts.flops_per_pass", Number, ["rung", "n"];
    // Counts of small kernels.
    SECTORS: simulated "cpu_gpu.lessons.sectors", Count, ["stride"];
    STORE_SECTORS: simulated "cpu_gpu.lessons.store_sectors", Count, ["kernel", "n"];
    BANK_CONFLICTS: simulated "cpu_gpu.lessons.conflicts", Count, ["kernel", "n"];
    DIVERGENCES: simulated "cpu_gpu.lessons.divergences", Count, ["kernel", "threads"];
    INSTRUCTIONS: simulated "cpu_gpu.lessons.instructions", Count, ["kernel", "threads"];
    /// The fraction of the warp slots that blocks take.
    OCCUPANCY: calculated "cpu_gpu.occupancy", Share, ["capability", "registers", "threads"];
}

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    lab::experiments! {
        quick "cpu_gpu.counts" =>
            &[SECTORS_PER_LOAD, MOVED, EFFICIENCY, INTENSITY, SHARED_PASSES, CONFLICTS, FLOPS_PER_PASS],
            counts,
            "what each rung of the ladder moves and waits for, counted on a simulated GPU";
        quick "cpu_gpu.lessons" =>
            &[SECTORS, STORE_SECTORS, BANK_CONFLICTS, DIVERGENCES, INSTRUCTIONS],
            small,
            "sectors, bank conflicts and divergences of small kernels, counted on a simulated GPU";
        quick OCCUPANCY.name => &[OCCUPANCY], |rec| {
                fullness(rec);
                Ok(())
            },
            "how many warps fit on a multiprocessor, by the registers of a thread";
    }
}

/// What `rung` costs for a product of `n`×`n` matrices.
///
/// # Errors
/// A message if there is no such rung, or if it has a bug.
pub fn of_rung(rung: &str, n: usize) -> Result<Counts> {
    let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
    match ladder::product(rung, &a, &b, Shape::square(n)) {
        Some(Ok((_, counts))) => Ok(counts),
        Some(Err(fault)) => Err(lab::Error::message(fault.to_string())),
        None => Err(lab::Error::message(format!("there is no rung `{rung}`"))),
    }
}

fn counts(rec: &mut Recorder) -> Result<()> {
    for rung in ladder::RUNGS {
        let at = |key: Key| key.at(&[("rung", &rung), ("n", &SIZE)]);
        rec.note_at(at(INTENSITY));
        let c = of_rung(rung, SIZE)?;
        for (key, value) in [
            (SECTORS_PER_LOAD, c.sectors_per_load()),
            (MOVED, c.moved_bytes() as f64),
            (EFFICIENCY, c.efficiency()),
            (INTENSITY, c.intensity()),
            (SHARED_PASSES, c.shared_passes as f64),
            (CONFLICTS, c.conflicts() as f64),
        ] {
            rec.record(at(key), Samples::one(value));
        }
        let passes = Some(c.shared_passes as f64).filter(|passes| *passes > 0.0);
        let each = passes.map(|passes| c.flops as f64 / passes);
        number_or(rec, at(FLOPS_PER_PASS), each, "it uses no shared memory");
    }
    Ok(())
}

fn small(rec: &mut Recorder) -> Result<()> {
    let failed = |fault: KernelFault| lab::Error::message(fault.to_string());
    for stride in [1_usize, 2, 4, 8, 32] {
        let launched = lessons::launch_strided(&mut Machine::new(1), &numbers(32 * stride, 1));
        let sectors = launched.map_err(failed)?.0.load_sectors as f64;
        rec.record(SECTORS.at(&[("stride", &stride)]), Samples::one(sectors));
    }
    let n = 4 * SIDE;
    for kernel in ["transpose", "transpose_32", "transpose_33"] {
        let a = numbers(n * n, 1);
        let c = lessons::launch_transpose(&mut Machine::new(1), kernel, &a).map_err(failed)?.0;
        let at = |key: Key| key.at(&[("kernel", &kernel), ("n", &n)]);
        rec.record(at(STORE_SECTORS), Samples::one(c.store_sectors as f64));
        rec.record(at(BANK_CONFLICTS), Samples::one(c.conflicts() as f64));
    }
    for kernel in ["sum_divergent", "sum"] {
        let x = numbers(256, 1);
        let c = lessons::launch_sum(&mut Machine::new(1), kernel, &x, 256).map_err(failed)?.0;
        let at = |key: Key| key.at(&[("kernel", &kernel), ("threads", &256)]);
        rec.record(at(DIVERGENCES), Samples::one(c.divergences as f64));
        rec.record(at(INSTRUCTIONS), Samples::one(c.instructions as f64));
    }
    Ok(())
}

/// Registers of a thread for which occupancy is recorded.
const REGISTERS: [usize; 9] = [16, 32, 40, 64, 80, 96, 128, 168, 255];

fn fullness(rec: &mut Recorder) {
    for limits in Limits::ALL {
        let capability = format!("{}.{}", limits.capability.0, limits.capability.1);
        for registers in REGISTERS {
            let share = occupancy(Block { threads: 256, registers, shared: 0 }, limits).share;
            let what = OCCUPANCY.at(&[
                ("capability", &capability),
                ("registers", &registers),
                ("threads", &256),
            ]);
            rec.record(what, Samples::one(share));
        }
    }
}
