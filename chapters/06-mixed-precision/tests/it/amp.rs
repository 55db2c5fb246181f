mod ablations;
mod deep;
mod range;
mod replica;
mod scaler;
mod step;

use lab::data;
use lab::testing::refused;
use mixed_precision::amp::train_on;
use training::{
    Config, EngineKind, Model, Precision, Settings, Silent, Start, Watcher, checkpoint::Checkpoint,
};

fn config(precision: Precision, settings: &Settings) -> Config {
    Config { settings: Settings { precision, ..settings.clone() }, ..Config::default() }
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
        let [amp, full] = [Precision::Amp, Precision::F32]
            .map(|precision| train_on(&config(precision, &settings), &data, &mut Silent).unwrap());
        let (a, b) = (amp.test_accuracy().unwrap(), full.test_accuracy().unwrap());
        assert!(b > 0.7 && (a - b).abs() < 0.03, "{model}: {a} against {b}");
        assert_ne!(amp.weights, full.weights);
    }
}

#[test]
fn every_model_goes_down_in_every_precision() {
    let data = data::drawn(96, 20, 2);
    for model in Model::ALL {
        let recipe = Settings { engine: EngineKind::Fast, ..Settings::of(model) };
        let recipe = Settings { epochs: 2, batch: 16, dropout: 0.0, augment: false, ..recipe };
        let run = |precision| {
            let outcome = train_on(&config(precision, &recipe), &data, &mut Silent).unwrap();
            let losses = outcome.history.iter().map(|epoch| epoch.train_loss);
            (losses.collect::<Vec<_>>(), outcome)
        };
        let (full, _) = run(Precision::F32);
        for precision in [Precision::Amp, Precision::Bf16] {
            let (half, outcome) = run(precision);
            let far = (full[1] - half[1]).abs() / full[1];
            assert!(half[1] < half[0] && far < 0.1, "{model}, {precision}: {full:?}, {half:?}");
            assert_ne!(full, half, "{model}, {precision}: nothing was rounded");
            let skipped = outcome.loss_scale.map(|scale| scale.skipped);
            assert_eq!(skipped.is_some(), precision == Precision::Amp, "{model}");
        }
        // By dfdx only the dense ones, and those in f16.
        let dfdx = Settings { engine: EngineKind::Dfdx, epochs: 1, ..recipe };
        let trained = train_on(&config(Precision::Amp, &dfdx), &data, &mut Silent);
        let said = trained.err().map(|error| error.to_string());
        assert_eq!(said.is_none(), [Model::Linear, Model::Mlp].contains(&model), "{said:?}");
        assert!(said.is_none_or(|said| said.contains("leave out --engine")));
    }
}

#[test]
fn a_stopped_run_goes_on_bit_for_bit_with_its_scale() {
    goes_on(Precision::Amp, &Settings::default()); // a copy in f16
    for model in Model::ALL {
        let fast = Settings { engine: EngineKind::Fast, ..Settings::of(model) };
        goes_on(Precision::Amp, &fast);
        goes_on(Precision::Bf16, &fast);
    }
}

fn goes_on(precision: Precision, settings: &Settings) {
    let f32 = Settings { epochs: 2, batch: 16, ..settings.clone() };
    let config = config(precision, &f32);
    let data = data::drawn(112, 50, 2);
    let whole = train_on(&config, &data, &mut Silent).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let first = Config { run: Some(run.clone()), ..config };
    let stopped = train_on(&first, &data, &mut StopAfter(5)).unwrap();
    assert_eq!(stopped.stopped, Some((1, 5)));
    let saved = Checkpoint::load(&run).unwrap();
    let scale = saved.header.loss_scale;
    assert_eq!(scale.is_some(), precision == Precision::Amp);
    assert_eq!(saved.optimizer.t + scale.map_or(0, |scale| scale.skipped), 5);
    let again = Config { start: Start::Resume, ..first.clone() };
    let resumed = train_on(&again, &data, &mut Silent).unwrap();
    assert!(resumed.weights == whole.weights, "{}, {precision}: other bits", settings.model);
    for file in [lab::run::METRICS, lab::run::MODEL, lab::run::CURVES] {
        assert!(run.join(file).exists(), "{file}");
    }
    // The other precision is refused by name.
    let error = train_on(&Config { settings: f32.clone(), ..again }, &data, &mut Silent);
    refused(error, [&format!("--precision {precision}, not f32")]);
}

#[test]
fn chapter_4_alone_says_where_the_formats_are() {
    let data = data::drawn(20, 10, 1);
    for precision in [Precision::Amp, Precision::Bf16] {
        let chapter4 = config(precision, &Settings::default());
        refused(training::train_on(&chapter4, &data, &mut Silent), ["chapter 6", precision.name()]);
    }
}
