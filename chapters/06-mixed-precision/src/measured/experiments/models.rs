//! Each of chapter 4's models in each precision, by the engine that `train` takes.

use crate::amp;
use lab::{Experiment, Recorder, Result, Samples, data::DataSet, record::ParamList};
use training::{Config, EngineKind, Model, Outcome, Precision, Settings, Silent};

lab::keys! {
    /// Images of a second.
    RATE: measured "mixed_precision.models", ImagesPerSecond, ["model", "precision", "device"];
    /// Test accuracy in the end.
    RIGHT: measured "mixed_precision.models.accuracy", Share, ["model", "precision", "device"];
}

/// The experiment.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full RATE.name => &[RATE, RIGHT], measure,
            "how fast and how well each of chapter 4's models trains with products in bf16 and in f16";
    }
}

/// Images of an epoch: whole steps of every batch.
const IMAGES: usize = 12_800;
/// Epochs of a run: more of those that take some hundredths of a second.
fn epochs(model: Model) -> usize {
    if matches!(model, Model::Linear | Model::Mlp) { 12 } else { 3 }
}
/// Runs in each precision, which take turns.
const SEEDS: u64 = 3;

/// The recipe without its changed images, as `train` runs it.
fn train(
    model: Model,
    precision: Precision,
    seed: u64,
    base: &Config,
    data: &DataSet,
) -> Result<Outcome> {
    let recipe = Settings { engine: EngineKind::Fast, augment: false, ..Settings::of(model) };
    let settings = Settings { precision, seed, epochs: epochs(model), ..recipe };
    Ok(amp::train_on(&Config { settings, ..base.clone() }, data, &mut Silent)?)
}

fn measure(rec: &mut Recorder) -> Result<()> {
    let all = rec.data_set()?;
    let data = DataSet { train: all.train.first(IMAGES), ..all };
    let base = Config { device: rec.device, ..Config::default() };
    for model in Model::ALL {
        let mut found = Precision::ALL.map(|_| (Vec::new(), Vec::new()));
        for seed in 0..SEEDS {
            for (precision, (rates, right)) in Precision::ALL.into_iter().zip(&mut found) {
                let list: ParamList = &[("model", &model), ("precision", &precision)];
                rec.note(RATE.name, &[list, &[("seed", &seed)]].concat());
                let outcome = train(model, precision, seed, &base, &data)?;
                // The first epoch warms up.
                let later = outcome.history.iter().skip(1);
                rates.extend(later.map(|epoch| epoch.images_per_second).max_by(f64::total_cmp));
                right.extend(outcome.test_accuracy());
            }
        }
        for (precision, (rates, right)) in Precision::ALL.into_iter().zip(found) {
            let list: ParamList =
                &[("model", &model), ("precision", &precision), ("device", &base.device)];
            rec.record(RATE.at(list), Samples(rates));
            rec.record(RIGHT.at(list), Samples(right));
        }
        rec.keep()?;
    }
    Ok(())
}
