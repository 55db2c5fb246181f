use backprop::train::{Examples, Learner, Settings, Textbook, fit, test};
use backprop::{Error, mlp::Mlp, order::order};
use lab::data;

/// Drawn digits, for tests that train.
pub(crate) fn digits(train: usize, tested: usize) -> (Examples, Examples) {
    let set = data::drawn(train, tested, 3);
    (Examples::of(&set.train), Examples::of(&set.test))
}

/// The parameters after so many epochs, and the last one's loss.
pub(crate) fn after(learner: &mut dyn Learner, data: &Examples, epochs: usize) -> (Vec<f32>, f64) {
    let mut loss = f64::NAN;
    for epoch in 1..=epochs {
        loss = learner.epoch(data, &order(1, epoch, data.len()), epoch).unwrap();
    }
    (learner.model().unwrap().parameters(), loss)
}

#[test]
fn learns_drawn_digits() {
    let (train, tested) = digits(2000, 500);
    let settings = Settings { sizes: vec![784, 32, 10], ..Settings::default() };
    let mut learner = Textbook::new(settings.clone(), false).unwrap();
    let mut seen = Vec::new();
    let history = fit(&mut learner, (&train, &tested), &settings, |e| seen.push(*e)).unwrap();
    assert_eq!(seen, history);
    assert_eq!(history.len(), 3);
    assert!(history[2].loss < 0.7 * history[0].loss, "{history:?}");
    assert!(history[2].accuracy > 0.7, "{history:?}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    let (train, tested) = digits(200, 50);
    let run = |seed| {
        let settings = Settings { sizes: vec![784, 9, 10], seed, ..Settings::default() };
        let mut learner = Textbook::new(settings.clone(), false).unwrap();
        fit(&mut learner, (&train, &tested), &settings, |_| {}).unwrap();
        learner.model().unwrap()
    };
    assert_eq!(run(4), run(4));
    assert_ne!(run(4), run(5));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let bad = |change: &dyn Fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        settings.check().is_err()
    };
    assert!(bad(&|s| s.batch = 0) && bad(&|s| s.sizes = vec![784]));
    assert!(bad(&|s| s.dropout = 1.0) && bad(&|s| s.rule.lr = 0.0));
    assert!(!bad(&|_| {}));
}

#[test]
fn images_that_do_not_fit_are_refused() {
    let model = Mlp::zeros(&[784, 10]).unwrap();
    let (train, _) = digits(20, 1);
    assert!(test(&model, &train).is_ok());
    let none = Examples { pixels: vec![], labels: vec![], width: 784 };
    assert!(matches!(test(&model, &none), Err(Error::EmptyBatch)));
    let narrow = Examples { width: 28, ..train.clone() };
    assert!(matches!(test(&model, &narrow), Err(Error::Count { .. })));
    let strange = Examples { labels: vec![10; 20], ..train };
    assert!(matches!(test(&model, &strange), Err(Error::Label { .. })));
}
