use training::runner::export::{Format, export, known, tested};
use training::runner::serve::Classifier;
use training::{Config, Settings, Silent, config::Model, train_on};

#[test]
fn weights_move_by_half_a_step_at_most_and_the_script_is_small() {
    for (kind, most) in [(Model::Linear, 12_000), (Model::Mlp, 138_000), (Model::Cnn, 160_000)] {
        let one = Classifier::random(kind, 3).unwrap();
        let before = one.weights().unwrap();
        let largest = before.iter().fold(0.0_f32, |most, w| most.max(w.abs()));
        // Half a step of a row's scale, half a unit of a bf16's eighth bit, nothing.
        let half_steps = [0.51 * largest / 127.0, largest / 256.0, 0.0];
        for (format, half_step) in Format::ALL.into_iter().zip(half_steps) {
            let export = export(&one, format).unwrap();
            let most = most * usize::from(format.bits()) / 8;
            assert!(export.script.len() < most, "{kind}: {}", export.script.len());
            let after = export.rounded.weights().unwrap();
            for (a, b) in before.iter().zip(&after) {
                assert!((a - b).abs() <= half_step, "{kind} {format:?}: {a} {b}");
            }
            assert_eq!(before == after, format == Format::F32);
        }
    }
}

#[test]
fn other_models_are_refused_with_a_sentence() {
    for kind in Model::ALL.into_iter().filter(|kind| !known(*kind)) {
        let error = export(&Classifier::random(kind, 1).unwrap(), Format::Int8);
        let error = error.err().unwrap().to_string();
        assert!(error.contains("linear, mlp and cnn"), "{error}");
    }
}

#[test]
fn rounding_costs_next_to_no_accuracy() {
    let data = lab::data::drawn(2000, 2000, 2);
    for kind in [Model::Linear, Model::Mlp, Model::Cnn] {
        let epochs = if kind == Model::Cnn { 1 } else { 5 };
        let settings = Settings { model: kind, epochs, batch: 50, ..Settings::default() };
        let config = Config { settings, ..Config::default() };
        let outcome = train_on(&config, &data, &mut Silent).unwrap();
        let trained = Classifier::from_weights(kind, &outcome.weights).unwrap();
        let tested = tested(&trained, &data.test).unwrap().unwrap();
        assert_eq!(tested.images, 2000);
        let [least, half, whole] = Format::ALL.map(|format| tested.right[&format.bits()]);
        assert!(whole > 1300, "{kind} learned nothing: {tested:?}");
        assert!(whole <= half + 6 && whole <= least + 6, "{kind}: {tested:?}");
        let same = outcome.history.last().unwrap().test_accuracy;
        assert!((same - whole as f64 / 2000.0).abs() < 1e-3, "{kind}: {same}, {tested:?}");
    }
}
