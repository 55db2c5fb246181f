//! What this part measures: where the time of each model's step goes, and what profiling costs.

use crate::profile::{
    report::{Profile, limits, profile},
    tape::Phase,
};
use lab::{Budget, Experiment, Key, Recorder, Result, Samples, record::ParamList};
use training::Model;

lab::keys! {
    /// Seconds of an operation.
    pub SECONDS: measured "performance.profile", Seconds, ["model", "batch", "phase", "op"];
    /// Its fraction of the step.
    pub SHARE: measured "performance.profile.share", Share, ["model", "batch", "phase", "op"];
    /// What it computes.
    pub FLOPS: counted "performance.profile.flops", Number, ["model", "batch", "phase", "op"];
    /// What it moves.
    pub BYTES: counted "performance.profile.bytes", Bytes, ["model", "batch", "phase", "op"];
    /// The least time that the limits leave for it, over its own.
    pub ROOFLINE: measured "performance.profile.roofline", Share, ["model", "batch", "phase", "op"];
    /// The fraction of a phase.
    pub PHASE: measured "performance.profile.phase", Share, ["model", "batch", "phase"];
    /// The fraction of the matrix products in the time.
    PRODUCTS: measured "performance.profile.products", Share, ["model", "batch"];
    /// Their fraction of what is computed.
    PRODUCT_FLOPS: counted "performance.profile.product_flops", Share, ["model", "batch"];
    /// One operation of a step that is drawn as a timeline.
    pub EVENT: measured "performance.profile.event", Seconds, ["model", "at", "phase", "op"];
    /// The whole step.
    pub TOTAL: measured "performance.profile.total", Seconds, ["model", "batch"];
    /// The same, without the profiler.
    PLAIN: measured "performance.profile.plain", Seconds, ["model", "batch"];
    /// What profiling costs.
    OVERHEAD: measured "performance.profile.overhead", Ratio, ["model", "batch"];
    /// The most that the CPU computes.
    pub PEAK: measured "performance.profile.peak", FlopsPerSecond, [];
    /// The most that its memory moves.
    pub BANDWIDTH: measured "performance.profile.bandwidth", BytesPerSecond, [];
}

/// Images in a step.
pub const BATCH: usize = 128;
/// Models whose steps are drawn as timelines.
const TIMELINES: [Model; 3] = [Model::Mlp, Model::Cnn, Model::Resnet];

/// The experiment of this part.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick SECONDS.name =>
            &[
                SECONDS, SHARE, FLOPS, BYTES, ROOFLINE, PHASE, PRODUCTS, PRODUCT_FLOPS, EVENT, TOTAL, PLAIN, OVERHEAD, PEAK,
                BANDWIDTH,
            ],
            run,
            "where the time of a training step goes, operation by operation, in each of chapter 4's models";
    }
}

fn run(rec: &mut Recorder) -> Result<()> {
    if rec.device != lab::Device::Cpu {
        let why = "a host's timer sees the launch of a GPU's work and not its end";
        rec.skip_at(SECONDS.at(&[]), why);
        return Ok(());
    }
    let data = rec.data_set()?;
    let limits = limits().map(|limit| limit.value);
    record_limits(rec, limits);
    for model in Model::ALL {
        rec.note_at(SECONDS.at(&[("model", &model)]));
        let steps = match (rec.budget, model) {
            (Budget::Full, _) => 60,
            (Budget::Quick, Model::Linear | Model::Mlp) => 20,
            (Budget::Quick, _) => 3,
        };
        record(rec, (model, BATCH), &profile(model, &data, BATCH, steps)?, limits);
    }
    Ok(())
}

/// Leaves what the CPU can do.
pub fn record_limits(rec: &mut Recorder, [peak, bandwidth]: [f64; 2]) {
    rec.one(PEAK.at(&[]), peak);
    rec.one(BANDWIDTH.at(&[]), bandwidth);
}

/// Seconds without the digits behind the clock's nanoseconds: there are thousands of samples, and sums of floats have
/// twice as many digits as they know.
fn to_nanoseconds(seconds: &Samples) -> Samples {
    seconds.map(|seconds| (seconds * 1e9).round() / 1e9)
}

/// Leaves what the profile of a model's step on so many images has found, beside these limits.
pub fn record(
    rec: &mut Recorder,
    (model, batch): (Model, usize),
    profile: &Profile,
    [peak, bandwidth]: [f64; 2],
) {
    let step: ParamList = &[("model", &model), ("batch", &batch)];
    for row in &profile.rows {
        let of = |key: Key| key.at(step).with("phase", row.phase.name()).with("op", &row.name);
        let seconds = rec.record(of(SECONDS), to_nanoseconds(&row.seconds));
        rec.one(of(SHARE), profile.share(row));
        rec.one(of(FLOPS), row.cost.flops());
        rec.one(of(BYTES), row.cost.bytes);
        let bound = row.cost.seconds(peak, bandwidth);
        if bound > 0.0 {
            rec.one(of(ROOFLINE), bound / seconds);
        }
    }
    for phase in Phase::ALL {
        let share = profile.rows.iter().filter(|row| row.phase == phase);
        let share = share.map(|row| profile.share(row)).sum();
        rec.one(PHASE.at(step).with("phase", phase.name()), share);
    }
    let products = profile.rows.iter().filter(|row| row.cost.products > 0.0);
    rec.one(PRODUCTS.at(step), products.map(|row| profile.share(row)).sum());
    let products: f64 = profile.rows.iter().map(|row| row.cost.products).sum();
    let all: f64 = profile.rows.iter().map(|row| row.cost.flops()).sum();
    rec.one(PRODUCT_FLOPS.at(step), products / all);
    rec.record(TOTAL.at(step), to_nanoseconds(&profile.total));
    rec.record(PLAIN.at(step), to_nanoseconds(&profile.plain));
    let ratios = profile.total.paired(&profile.plain, |with, without| with / without);
    rec.record(OVERHEAD.at(step), ratios);
    if TIMELINES.contains(&model) {
        for (at, moment) in profile.moments.iter().enumerate() {
            // Three digits, so that names sort as numbers do.
            let at = format!("{at:03}");
            let (phase, op) = (moment.phase.name(), &moment.name);
            let list: ParamList = &[("model", &model), ("at", &at), ("phase", &phase), ("op", op)];
            rec.record(EVENT.at(list), to_nanoseconds(&Samples::one(moment.seconds.median())));
        }
    }
}
