use backprop::train::{Examples, Learner, Settings, Textbook};
use backprop::{Error, adam::Adam, check, order::order};
use performance::engine::cpu::Ways;
use performance::ladder::{SIZES, Trained, ladder, stock};

fn digits(images: usize) -> Examples {
    Examples::of(&lab::data::drawn(images, 10, 1).train)
}

fn settings(sizes: &[usize], batch: usize, dropout: f64) -> Settings {
    Settings { sizes: sizes.to_vec(), batch, dropout, ..Settings::default() }
}

#[test]
fn a_hundred_losses_are_the_same_on_every_rung() {
    // Small steps: with large ones, the last bits of two orders of summation grow tenfold every few steps.
    let rule = Adam { lr: 2e-4, ..Adam::default() };
    let data = digits(500);
    for (sizes, batch) in [(&SIZES, 33), (&SIZES, 20)] {
        let mut first: Option<(Vec<f64>, Vec<f32>)> = None;
        for rung in ladder() {
            let settings = Settings { rule, ..settings(sizes, batch, 0.0) };
            let mut learner = (rung.learner)(settings).unwrap();
            let start = learner.model().unwrap().parameters();
            let steps = (1..).flat_map(|epoch| {
                let order = order(1, epoch, data.len());
                order.chunks(batch).map(<[usize]>::to_vec).collect::<Vec<_>>()
            });
            let losses: Vec<f64> = (1..)
                .zip(steps.take(100))
                .map(|(step, index)| learner.epoch(&data, &index, step).unwrap())
                .collect();
            let end = learner.model().unwrap().parameters();
            assert!(check::error_f32(&start, &end) > 1e-3, "{} learns nothing", rung.key);
            let (wanted, _) = first.get_or_insert_with(|| (losses.clone(), end));
            for (step, (found, wanted)) in losses.iter().zip(wanted).enumerate() {
                let error = (found - *wanted).abs();
                assert!(error < 1e-4, "{} in step {step}: {found}, not {wanted}", rung.key);
            }
        }
    }
}

#[test]
fn one_step_is_the_textbooks_to_five_digits() {
    let data = digits(40);
    let mut textbook = Textbook::new(settings(&SIZES, 37, 0.0), false).unwrap();
    let index = order(2, 1, 37);
    textbook.epoch(&data, &index, 1).unwrap();
    let wanted = textbook.model().unwrap().parameters();
    for rung in ladder() {
        let mut learner = (rung.learner)(settings(&SIZES, 37, 0.0)).unwrap();
        learner.epoch(&data, &index, 1).unwrap();
        let error = check::error_f32(&learner.model().unwrap().parameters(), &wanted);
        assert!(error < 1e-5, "{}: {error}", rung.key);
    }
}

#[test]
fn with_dropout_all_rungs_learn_about_as_well() {
    let data = digits(600);
    let losses: Vec<f64> = ladder()
        .into_iter()
        .map(|rung| {
            let mut learner = (rung.learner)(settings(&SIZES, 50, 0.2)).unwrap();
            (1..=4).map(|e| learner.epoch(&data, &order(1, e, 600), e).unwrap()).last().unwrap()
        })
        .collect();
    let (low, high) = losses.iter().fold((f64::MAX, 0.0_f64), |(l, h), x| (l.min(*x), h.max(*x)));
    assert!(high < 1.2 * low && high < 1.5, "{losses:?}");
}

#[test]
fn what_can_not_work_is_a_sentence() {
    let data = digits(20);
    for rung in ladder() {
        let mut learner = (rung.learner)(settings(&SIZES, 8, 0.2)).unwrap();
        assert!(matches!(learner.epoch(&data, &[], 1), Err(Error::EmptyBatch)), "{}", rung.key);
        assert!(learner.epoch(&data, &[20], 1).is_err(), "{}", rung.key);
        assert!((rung.learner)(settings(&SIZES, 0, 0.2)).is_err(), "{}", rung.key);
        assert!((rung.learner)(settings(&SIZES, 8, 1.0)).is_err(), "{}", rung.key);
    }
    let error = stock(settings(&[784, 100, 10], 8, 0.0)).err().map(|e| e.to_string());
    assert!(error.is_some_and(|e| e.contains("[784, 128, 10]")));
    let rule = Adam { lr: 1e30, ..Adam::default() };
    let wide = Settings { rule, ..settings(&SIZES, 5, 0.0) };
    let mut learner = Trained::new(wide, 2, Ways::default()).unwrap();
    let error = learner.epoch(&data, &order(1, 1, 20), 1).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }), "{error}");
}
