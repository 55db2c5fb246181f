//! What the simulated machine counts: traffic, conflicts and divergence of each kernel, and occupancy.
//!
//! Counts need no clock. They are the same on every machine, and the page quotes them as its predictions.

use crate::{
    simt::{
        Block, Counts, Limits, Machine, ladder,
        lessons::{self, SIDE},
        occupancy,
    },
    verify::numbers,
};
use lab::{Experiment, Recorder, Result, Samples, Unit, record::ParamList};
use matmul::Shape;

/// The size of the ladder's product. A simulated thread takes its time, and the counts follow the size.
pub const SIZE: usize = 128;

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "cpu_gpu.counts",
            shows: "what each rung of the ladder moves and waits for, counted on a simulated GPU",
            values: &[
                "cpu_gpu.counts.sectors_per_load",
                "cpu_gpu.counts.moved",
                "cpu_gpu.counts.efficiency",
                "cpu_gpu.counts.intensity",
                "cpu_gpu.counts.shared_passes",
                "cpu_gpu.counts.conflicts",
                "cpu_gpu.counts.flops_per_pass",
                "cpu_gpu.counts.barriers",
            ],
            quick: true,
            run: counts,
        },
        Experiment {
            key: "cpu_gpu.lessons",
            shows: "sectors, bank conflicts and divergences of small kernels, counted on a simulated GPU",
            values: &[
                "cpu_gpu.lessons.sectors",
                "cpu_gpu.lessons.efficiency",
                "cpu_gpu.lessons.store_sectors",
                "cpu_gpu.lessons.conflicts",
                "cpu_gpu.lessons.divergences",
                "cpu_gpu.lessons.instructions",
            ],
            quick: true,
            run: small,
        },
        Experiment {
            key: "cpu_gpu.occupancy",
            shows: "how many warps fit on a multiprocessor, by the registers of a thread",
            values: &["cpu_gpu.occupancy"],
            quick: true,
            run: |rec| {
                fullness(rec);
                Ok(())
            },
        },
    ]
}

fn one(value: f64) -> Samples {
    Samples(vec![value])
}

/// What `rung` costs for a product of `n`×`n` matrices.
///
/// # Errors
/// A sentence if there is no such rung, or if it makes a mistake.
pub fn of_rung(rung: &str, n: usize) -> Result<Counts> {
    let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
    match ladder::product(rung, &a, &b, Shape::square(n)) {
        Some(Ok((_, counts))) => Ok(counts),
        Some(Err(fault)) => Err(lab::Error::message(fault.to_string())),
        None => Err(lab::Error::message(format!("there is no rung `{rung}`"))),
    }
}

fn counts(rec: &mut Recorder) -> Result<()> {
    const PER_PASS: &str = "cpu_gpu.counts.flops_per_pass";
    for rung in ladder::RUNGS {
        let list: ParamList = &[("rung", &rung), ("n", &SIZE)];
        rec.note("cpu_gpu.counts", list);
        let c = of_rung(rung, SIZE)?;
        for (name, unit, value) in [
            ("sectors_per_load", Unit::Number, c.sectors_per_load()),
            ("moved", Unit::Bytes, c.moved_bytes() as f64),
            ("efficiency", Unit::Share, c.efficiency()),
            ("intensity", Unit::Number, c.intensity()),
            ("shared_passes", Unit::Count, c.shared_passes as f64),
            ("conflicts", Unit::Count, c.conflicts() as f64),
            ("barriers", Unit::Count, c.barriers as f64),
        ] {
            rec.value(&format!("cpu_gpu.counts.{name}"), list, unit, one(value));
        }
        if c.shared_passes == 0 {
            rec.skip(PER_PASS, list, "it uses no shared memory");
        } else {
            let flops = c.flops as f64 / c.shared_passes as f64;
            rec.value(PER_PASS, list, Unit::Number, one(flops));
        }
    }
    Ok(())
}

fn small(rec: &mut Recorder) -> Result<()> {
    let failed = |fault: crate::simt::KernelFault| lab::Error::message(fault.to_string());
    for stride in [1_usize, 2, 4, 8, 32] {
        let mut gpu = Machine::new(1);
        let (x, y) = (gpu.array(&numbers(32 * stride, 1)), gpu.unwritten(32));
        let c = gpu
            .launch("strided", [1, 1], [32, 1], |t| lessons::strided(t, x, y, stride))
            .map_err(failed)?;
        let list: ParamList = &[("stride", &stride)];
        rec.value("cpu_gpu.lessons.sectors", list, Unit::Count, one(c.load_sectors as f64));
        let share = 32.0 * 4.0 / (32.0 * c.load_sectors as f64);
        rec.value("cpu_gpu.lessons.efficiency", list, Unit::Share, one(share));
    }
    let n = 4 * SIDE;
    for (kernel, way) in [("transpose", 0), ("transpose_32", 32), ("transpose_33", 33)] {
        let mut gpu = Machine::new(1);
        let (a, b) = (gpu.array(&numbers(n * n, 1)), gpu.unwritten(n * n));
        let (grid, block) = ([n / SIDE; 2], [SIDE; 2]);
        let c = match way {
            0 => gpu.launch(kernel, grid, block, |t| lessons::transpose(t, a, b, n)),
            32 => gpu.launch(kernel, grid, block, |t| lessons::transpose_shared::<32>(t, a, b, n)),
            _ => gpu.launch(kernel, grid, block, |t| lessons::transpose_shared::<33>(t, a, b, n)),
        }
        .map_err(failed)?;
        let list: ParamList = &[("kernel", &kernel), ("n", &n)];
        rec.value("cpu_gpu.lessons.store_sectors", list, Unit::Count, one(c.store_sectors as f64));
        rec.value("cpu_gpu.lessons.conflicts", list, Unit::Count, one(c.conflicts() as f64));
    }
    for (kernel, divergent) in [("sum_divergent", true), ("sum", false)] {
        let mut gpu = Machine::new(1);
        let (x, sums) = (gpu.array(&numbers(256, 1)), gpu.unwritten(1));
        let c = if divergent {
            gpu.launch(kernel, [1, 1], [256, 1], |t| lessons::sum_divergent(t, x, sums))
        } else {
            gpu.launch(kernel, [1, 1], [256, 1], |t| lessons::sum(t, x, sums))
        }
        .map_err(failed)?;
        let list: ParamList = &[("kernel", &kernel), ("threads", &256)];
        rec.value("cpu_gpu.lessons.divergences", list, Unit::Count, one(c.divergences as f64));
        rec.value("cpu_gpu.lessons.instructions", list, Unit::Count, one(c.instructions as f64));
    }
    Ok(())
}

/// Registers of a thread for which occupancy is recorded.
pub const REGISTERS: [usize; 9] = [16, 32, 40, 64, 80, 96, 128, 168, 255];

fn fullness(rec: &mut Recorder) {
    for limits in Limits::ALL {
        let capability = format!("{}.{}", limits.capability.0, limits.capability.1);
        for registers in REGISTERS {
            let share = occupancy(Block { threads: 256, registers, shared: 0 }, limits).share;
            let list: ParamList =
                &[("capability", &capability), ("registers", &registers), ("threads", &256)];
            rec.value("cpu_gpu.occupancy", list, Unit::Share, one(share));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Budget, Device, progress::Progress};

    #[test]
    fn every_declared_value_is_recorded() {
        for experiment in all() {
            let run = lab::chapter::run(
                &experiment,
                Budget::Quick,
                Device::Cpu,
                None,
                &Progress::hidden(),
            )
            .unwrap();
            for key in experiment.values {
                assert!(run.values.iter().any(|value| value.key == *key), "{key}");
            }
        }
    }

    #[test]
    fn each_rung_of_the_ladder_does_better_than_the_one_before() {
        let n = 64;
        let [naive, coalesced, shared] =
            ["naive", "coalesced", "shared"].map(|rung| of_rung(rung, n).unwrap());
        assert!(naive.sectors_per_load() > 4.0 * coalesced.sectors_per_load());
        assert!(shared.intensity() > 4.0 * coalesced.intensity());
        assert!(of_rung("none", n).is_err());
    }
}
