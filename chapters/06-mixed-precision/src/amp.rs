//! Automatic mixed precision with dfdx: forward and backward in f16, everything that adds up in f32.
//!
//! The modules in the order of the page:
//!
//! 1. [`range`]: how large gradients are, and which of them f16 can represent.
//! 2. [`scaler`]: the factor before the loss, found while training.
//! 3. [`replica`]: a model's copy in f16, and its gradients back in f32.
//! 4. [`step`]: a step of training in mixed precision; [`deep`]: a model that can't do without its parts.
//! 5. [`ablations`]: what happens without each of them; [`narrow`]: sums in f16.

pub mod ablations;
pub mod deep;
pub mod narrow;
pub mod range;
pub mod replica;
pub mod scaler;
pub mod step;

use lab::{
    Device,
    data::{self, DataSet},
};
use replica::HalfEngine;
use step::Amp;
use training::{
    Config, Error, Model, Outcome, Precision, Result, Watcher, linear::Linear, mlp::Mlp,
    team::Alone, train_stepper,
};

/// Finds the data set and trains on it, in mixed precision if the settings ask for it and as chapter 4 does otherwise.
///
/// # Errors
/// As [`training::train`]; [`Error::Config`] for a model that has no copy in f16.
pub fn train(config: &Config, watcher: &mut dyn Watcher) -> Result<Outcome> {
    config.settings.check()?;
    let options = data::Options { folder: config.data.clone(), ..data::Options::default() };
    train_on(config, &data::load(&options)?, watcher)
}

/// [`train`], on a data set that is already there.
///
/// # Errors
/// As [`train`].
pub fn train_on(config: &Config, data: &DataSet, watcher: &mut dyn Watcher) -> Result<Outcome> {
    if config.settings.precision == Precision::F32 {
        return training::train_on(config, data, watcher);
    }
    config.settings.check()?;
    let seed = config.settings.seed;
    match config.device {
        Device::Cpu => train_with(&dfdx::prelude::Cpu::seed_from_u64(seed), config, data, watcher),
        #[cfg(feature = "cuda")]
        Device::Cuda(index) => {
            train_with(&training::engine::cuda(index, seed)?, config, data, watcher)
        }
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(index) => Err(Error::Config(format!(
            "this build has no cuda:{index}; use --device cpu, or build with --features cuda"
        ))),
    }
}

/// [`train_on`], on a device of one kind, its random numbers freshly seeded.
fn train_with<D: HalfEngine>(
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    let settings = &config.settings;
    match settings.model {
        Model::Linear => {
            let mut amp = Amp::<Linear<D>, D>::new(dev, settings)?;
            train_stepper(&mut amp, &Alone, dev, config, data, watcher)
        }
        Model::Mlp => {
            let mut amp = Amp::<Mlp<D>, D>::new(dev, settings)?;
            train_stepper(&mut amp, &Alone, dev, config, data, watcher)
        }
        other => Err(Error::Config(format!(
            "--precision amp trains linear and mlp; the operations that chapter 4 wrote for {other} are in f32 alone, \
             so leave --precision out"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use training::{Settings, Silent, Start, checkpoint::Checkpoint};

    fn config(settings: &Settings) -> Config {
        Config {
            settings: Settings { precision: Precision::Amp, ..settings.clone() },
            ..Config::default()
        }
    }

    /// Stops a run after so many steps.
    struct StopAfter(usize);

    impl Watcher for StopAfter {
        fn stop(&mut self) -> bool {
            self.0 -= 1;
            self.0 == 0
        }
    }

    #[test]
    fn learns_what_f32_learns() {
        let data = data::drawn(600, 200, 1);
        for model in [Model::Linear, Model::Mlp] {
            let settings = Settings { model, epochs: 4, batch: 32, ..Settings::default() };
            let amp = train_on(&config(&settings), &data, &mut Silent).unwrap();
            let full = Config { settings, ..Config::default() };
            let full = train_on(&full, &data, &mut Silent).unwrap();
            let (a, b) = (amp.test_accuracy().unwrap(), full.test_accuracy().unwrap());
            assert!(b > 0.7 && (a - b).abs() < 0.03, "{model}: {a} against {b}");
            assert_ne!(amp.weights, full.weights);
        }
    }

    #[test]
    fn a_stopped_run_goes_on_bit_for_bit_with_its_scale() {
        let data = data::drawn(200, 50, 2);
        let settings = Settings { epochs: 2, batch: 16, ..Settings::default() };
        let whole = train_on(&config(&settings), &data, &mut Silent).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let first = Config { run: Some(run.clone()), ..config(&settings) };
        let stopped = train_on(&first, &data, &mut StopAfter(5)).unwrap();
        assert_eq!(stopped.stopped, Some((1, 5)));
        let saved = Checkpoint::load(&run).unwrap();
        let scale = saved.header.loss_scale.unwrap();
        assert_eq!(saved.optimizer.t + scale.skipped, 5);
        let again = Config { start: Start::Resume, ..first.clone() };
        let resumed = train_on(&again, &data, &mut Silent).unwrap();
        assert_eq!(resumed.weights, whole.weights);
        for file in [training::run::METRICS, training::run::MODEL, training::run::CURVES] {
            assert!(run.join(file).exists(), "{file}");
        }
        // The other precision is refused by name.
        let f32 = Config { settings, ..again };
        let error = train_on(&f32, &data, &mut Silent).unwrap_err().to_string();
        assert!(error.contains("--precision amp, not f32"), "{error}");
    }

    #[test]
    fn models_that_are_not_possible_are_named() {
        let data = data::drawn(20, 10, 1);
        let error = train_on(&config(&Settings::of(Model::Cnn)), &data, &mut Silent);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("linear and mlp") && error.contains("cnn"), "{error}");
        let settings = Settings { precision: Precision::Amp, ..Settings::default() };
        let chapter4 = Config { settings, ..Config::default() };
        let error = training::train_on(&chapter4, &data, &mut Silent).unwrap_err().to_string();
        assert!(error.contains("chapter 6"), "{error}");
    }
}
