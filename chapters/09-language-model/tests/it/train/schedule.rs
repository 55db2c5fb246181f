use language_model::train::{schedule::rate, settings::Settings};

#[test]
fn it_rises_in_equal_steps_and_falls_to_a_tenth() {
    let settings = Settings { lr: 0.5, warmup: 4, steps: 104, ..Settings::default() };
    let rates: Vec<f64> = (0..5).map(|step| rate(&settings, step)).collect();
    assert_eq!(rates, [0.125, 0.25, 0.375, 0.5, 0.5]);
    assert!((4..104).all(|step| rate(&settings, step + 1) < rate(&settings, step)));
    assert!((rate(&settings, 54) - 0.275).abs() < 1e-12, "half way");
    assert!((rate(&settings, 104) - 0.05).abs() < 1e-12);
    assert_eq!(rate(&settings, 104), rate(&settings, 9999));
    let short = Settings { warmup: 10, steps: 3, ..settings };
    assert!((0..20).all(|step| rate(&short, step) > 0.0));
    assert!(rate(&Settings { warmup: 0, ..settings }, 0) == 0.5);
}
