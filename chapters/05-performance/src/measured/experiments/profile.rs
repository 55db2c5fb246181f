//! What this part measures: where the time of each model's step goes, and what watching it costs.

use crate::profile::{
    report::{Profile, limits, profile},
    tape::Phase,
};
use lab::{Budget, Experiment, Recorder, Result, Samples, Unit, record::ParamList};
use training::Model;

/// The experiment's key.
pub const KEY: &str = "performance.profile";
/// Pictures in a step.
pub const BATCH: usize = 128;
/// Models whose steps are drawn as timelines.
const TIMELINES: [Model; 3] = [Model::Mlp, Model::Cnn, Model::Resnet];

/// The experiment of this part.
pub fn experiments() -> Vec<Experiment> {
    vec![Experiment {
        key: KEY,
        shows: "where the time of a training step goes, operation by operation, in each of chapter 4's models",
        values: &[
            KEY,
            "performance.profile.share",
            "performance.profile.flops",
            "performance.profile.bytes",
            "performance.profile.roofline",
            "performance.profile.phase",
            "performance.profile.products",
            "performance.profile.product_flops",
            "performance.profile.event",
            "performance.profile.total",
            "performance.profile.plain",
            "performance.profile.overhead",
            "performance.profile.peak",
            "performance.profile.bandwidth",
        ],
        quick: true,
        run: |rec| run(rec, BATCH),
    }]
}

fn run(rec: &mut Recorder, batch: usize) -> Result<()> {
    if rec.device != lab::Device::Cpu {
        rec.skip(KEY, &[], "a host's timer sees the launch of a GPU's work and not its end");
        return Ok(());
    }
    let data =
        lab::data::load(&lab::data::Options { folder: rec.data.clone(), ..Default::default() })?;
    let [peak, bandwidth] = limits();
    rec.value("performance.profile.peak", &[], Unit::FlopsPerSecond, Samples::one(peak.value));
    rec.value(
        "performance.profile.bandwidth",
        &[],
        Unit::BytesPerSecond,
        Samples::one(bandwidth.value),
    );
    for model in Model::ALL {
        rec.note(KEY, &[("model", &model)]);
        let steps = match (rec.budget, model) {
            (Budget::Full, _) => 60,
            (Budget::Quick, Model::Linear | Model::Mlp) => 20,
            (Budget::Quick, _) => 3,
        };
        let profile = profile(model, &data, batch, steps)?;
        record(rec, &profile, [peak.value, bandwidth.value]);
    }
    Ok(())
}

/// Seconds without the digits behind the clock's nanoseconds: there are thousands of samples, and sums of floats have
/// twice as many digits as they know.
fn to_nanoseconds(seconds: &Samples) -> Samples {
    seconds.map(|seconds| (seconds * 1e9).round() / 1e9)
}

fn record(rec: &mut Recorder, profile: &Profile, [peak, bandwidth]: [f64; 2]) {
    let (model, batch) = (profile.model, profile.batch);
    for row in &profile.rows {
        let (phase, op) = (row.phase.name(), &row.name);
        let list: ParamList =
            &[("model", &model), ("batch", &batch), ("phase", &phase), ("op", op)];
        let seconds = rec.value(KEY, list, Unit::Seconds, to_nanoseconds(&row.seconds));
        rec.value("performance.profile.share", list, Unit::Share, Samples::one(profile.share(row)));
        rec.value("performance.profile.flops", list, Unit::Number, Samples::one(row.cost.flops()));
        rec.value("performance.profile.bytes", list, Unit::Bytes, Samples::one(row.cost.bytes));
        let bound = row.cost.seconds(peak, bandwidth);
        if bound > 0.0 {
            rec.value(
                "performance.profile.roofline",
                list,
                Unit::Share,
                Samples::one(bound / seconds),
            );
        }
    }
    let list: ParamList = &[("model", &model), ("batch", &batch)];
    for phase in Phase::ALL {
        let share = profile.rows.iter().filter(|row| row.phase == phase);
        let share = share.map(|row| profile.share(row)).sum();
        let name = phase.name();
        let list: ParamList = &[("model", &model), ("batch", &batch), ("phase", &name)];
        rec.value("performance.profile.phase", list, Unit::Share, Samples::one(share));
    }
    let products = profile.rows.iter().filter(|row| row.cost.products > 0.0);
    let share = products.map(|row| profile.share(row)).sum();
    rec.value("performance.profile.products", list, Unit::Share, Samples::one(share));
    let products: f64 = profile.rows.iter().map(|row| row.cost.products).sum();
    let all: f64 = profile.rows.iter().map(|row| row.cost.flops()).sum();
    rec.value("performance.profile.product_flops", list, Unit::Share, Samples::one(products / all));
    rec.value("performance.profile.total", list, Unit::Seconds, to_nanoseconds(&profile.total));
    rec.value("performance.profile.plain", list, Unit::Seconds, to_nanoseconds(&profile.plain));
    let ratios = profile.total.paired(&profile.plain, |with, without| with / without);
    rec.value("performance.profile.overhead", list, Unit::Ratio, ratios);
    if TIMELINES.contains(&model) {
        for (at, moment) in profile.moments.iter().enumerate() {
            let (phase, op) = (moment.phase.name(), &moment.name);
            // Three digits, so that names sort as numbers do.
            let at = format!("{at:03}");
            let list: ParamList = &[("model", &model), ("at", &at), ("phase", &phase), ("op", op)];
            let median = to_nanoseconds(&Samples::one(moment.seconds.median()));
            rec.value("performance.profile.event", list, Unit::Seconds, median);
        }
    }
}

#[cfg(test)]
pub(in crate::measured) mod tests {
    use super::*;
    use lab::{Records, progress::Progress};

    /// Records as a run leaves them, of small steps on drawn digits.
    pub fn records() -> Records {
        let (experiments, progress) = (experiments(), Progress::hidden());
        let mut rec = Recorder::new(&experiments[0], Budget::Quick, lab::Device::Cpu, &progress);
        rec.value("performance.profile.peak", &[], Unit::FlopsPerSecond, Samples::one(1e11));
        rec.value("performance.profile.bandwidth", &[], Unit::BytesPerSecond, Samples::one(1e10));
        let data = lab::data::drawn(32, 8, 1);
        for model in Model::ALL {
            record(&mut rec, &profile(model, &data, 8, 2).unwrap(), [1e11, 1e10]);
        }
        let (values, skipped) = rec.finish();
        lab::testing::records(&crate::chapter(), &values, &skipped)
    }

    #[test]
    fn shares_sum_to_one_and_phases_to_their_operations() {
        let records = records();
        for model in Model::ALL {
            let sum = |key: &str| -> f64 {
                records.all(key, &[("model", &model)]).iter().map(|value| value.median).sum()
            };
            for key in ["performance.profile.share", "performance.profile.phase"] {
                assert!((sum(key) - 1.0).abs() < 1e-9, "{model}: {key}: {}", sum(key));
            }
        }
    }
}
