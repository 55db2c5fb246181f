//! What is measured: this machine's limits, and how wrong a measurement can be.

use crate::{
    Experiment, Key, Recorder, Result, Samples, Unit,
    fooling::Mistake,
    machine,
    peak::{self, Traffic},
};

/// Rates of arithmetic.
const PEAK: Key = Key::measured("lab.peaks", Unit::FlopsPerSecond, &["unit", "threads"]);
/// Rates of memory.
const BANDWIDTH: Key =
    Key::measured("lab.peaks.bandwidth", Unit::BytesPerSecond, &["kind", "threads"]);
/// Where the roofline bends: operations per byte.
const RIDGE: Key = Key::measured("lab.peaks.ridge", Unit::Number, &["threads"]);

/// What the wrong way reports, over what the right way reports.
const FOOLING: Key = Key::measured("lab.fooling", Unit::Ratio, &["mistake"]);
/// What the wrong way reports.
const WRONG: Key = Key::measured("lab.fooling.wrong", Unit::Seconds, &["mistake"]);
/// What the right way reports.
const RIGHT: Key = Key::measured("lab.fooling.right", Unit::Seconds, &["mistake"]);

/// This chapter's experiments.
pub fn experiments() -> Vec<Experiment> {
    crate::experiments! {
        quick PEAK.name => &[PEAK, BANDWIDTH, RIDGE], peaks,
            "the limits of this machine's arithmetic and memory";
        quick FOOLING.name => &[FOOLING, WRONG, RIGHT], fooling,
            "six ways to measure wrongly, and by how much each is wrong";
    }
}

/// The parameter `threads`: one core, and all that the process may use.
const THREADS: [&str; 2] = ["1", "all"];

#[expect(clippy::unnecessary_wraps, reason = "the form of every experiment")]
fn peaks(recorder: &mut Recorder) -> Result<()> {
    let plan = recorder.budget.plan();
    for threads in THREADS {
        let count = if threads == "all" { machine::cores() } else { 1 };
        let of = |unit| PEAK.at(&[("unit", &unit), ("threads", &threads)]);
        let (mut fma, no_amx) = (0.0, machine::why_no_amx().unwrap_or("AMX gave no result"));
        for (name, unit, why) in [
            ("fma-f32", peak::Unit::FmaF32, ""),
            ("avx512-bf16", peak::Unit::PairsBf16, "this CPU has no AVX512-BF16"),
            ("amx-bf16", peak::Unit::AmxBf16, no_amx),
        ] {
            match unit.samples(count, plan) {
                Some(samples) if name == "fma-f32" => fma = recorder.record(of(name), samples),
                Some(samples) => drop(recorder.record(of(name), samples)),
                None => recorder.skip_at(of(name), why),
            }
        }
        let mut read = 0.0;
        for traffic in Traffic::ALL {
            let rate = BANDWIDTH.at(&[("kind", &traffic.name()), ("threads", &threads)]);
            recorder.note_at(&rate);
            let median = recorder.record(rate, peak::bandwidth_samples(traffic, count, plan));
            if traffic == Traffic::Read {
                read = median;
            }
        }
        recorder.record(RIDGE.at(&[("threads", &threads)]), Samples::one(fma / read));
    }
    Ok(())
}

fn fooling(recorder: &mut Recorder) -> Result<()> {
    for mistake in Mistake::ALL {
        let of = |key: Key| key.at(&[("mistake", &mistake.name())]);
        recorder.note_at(of(FOOLING));
        let fooled = mistake.make(recorder.budget.plan())?;
        let ratio = fooled.ratio();
        recorder.record(of(WRONG).in_unit(mistake.unit()), fooled.wrong);
        recorder.record(of(RIGHT).in_unit(mistake.unit()), fooled.right);
        recorder.record(of(FOOLING), ratio);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{machine, peak, testing};

    #[test]
    fn experiments_leave_what_they_declare() {
        for experiment in super::experiments() {
            let run = testing::run(&experiment);
            for value in &run.values {
                assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
            }
            let skips = |unit| run.skipped.iter().any(|skipped| skipped.params["unit"] == unit);
            let peaks = experiment.key == "lab.peaks";
            assert_eq!(skips("amx-bf16"), peaks && !machine::amx_bf16());
            assert_eq!(skips("avx512-bf16"), peaks && peak::pairs_bf16(1).is_none());
        }
    }
}
