use training::{
    config::Settings,
    learning::schedule::{Schedule, rate},
};

fn settings(schedule: Schedule, warmup: usize) -> Settings {
    Settings { lr: 0.5, warmup, schedule, ..Settings::default() }
}

#[test]
fn warms_up_in_equal_steps() {
    for schedule in Schedule::ALL {
        let settings = settings(schedule, 4);
        let rates: Vec<f64> = (0..5).map(|step| rate(&settings, step, 100)).collect();
        assert_eq!(rates, [0.125, 0.25, 0.375, 0.5, 0.5]);
    }
}

#[test]
fn stays_or_falls_to_zero() {
    let constant = settings(Schedule::Constant, 0);
    assert!((0..1000).all(|step| (rate(&constant, step, 10) - 0.5).abs() < 1e-12));
    let cosine = settings(Schedule::Cosine, 10);
    let rates: Vec<f64> = (10..110).map(|step| rate(&cosine, step, 110)).collect();
    assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "{rates:?}");
    assert!((rates[50] - 0.25).abs() < 1e-12, "half way is half the rate");
    assert!(rates[99] > 0.0 && rates[99] < 2e-4, "{}", rates[99]);
    assert!(rate(&cosine, 110, 110).abs() < 1e-15);
    assert!(rate(&cosine, 5000, 110).abs() < 1e-15, "it does not rise again");
}

#[test]
fn a_run_shorter_than_its_warm_up_only_warms_up() {
    let settings = settings(Schedule::Cosine, 10);
    assert!((0..10).all(|step| rate(&settings, step, 3) > 0.0));
    assert!(rate(&settings, 10, 3).is_finite());
}
