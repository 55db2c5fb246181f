use crate::train::digits;
use backprop::{Error, adam::Adam, check, ladder::ladder, order::order, train::Settings};

#[test]
fn every_rung_refuses_what_cannot_be_learned_from() {
    let (data, _) = digits(40, 1);
    let rule = Adam { lr: 1e30, ..Adam::default() };
    let wild = Settings { rule, batch: 8, ..Settings::default() };
    let other = Settings { sizes: vec![100, 12, 10], ..Settings::default() };
    for rung in ladder() {
        let mut learner = (rung.learner)(wild.clone()).unwrap();
        let error = learner.epoch(&data, &order(0, 1, 40), 2).unwrap_err();
        assert!(
            matches!(error, Error::Diverged { epoch: 2, step: 2.., .. }),
            "{}: {error}",
            rung.key
        );
        let narrow = (rung.learner)(other.clone());
        assert!(narrow.and_then(|mut it| it.epoch(&data, &[0], 1)).is_err(), "{}", rung.key);
        let mut learner = (rung.learner)(Settings::default()).unwrap();
        let empty = learner.epoch(&data, &[], 1).unwrap_err();
        assert!(matches!(empty, Error::EmptyBatch), "{}: {empty}", rung.key);
        let outside = learner.epoch(&data, &[3, 40], 1).unwrap_err().to_string();
        assert!(outside.contains("no image 40"), "{}: {outside}", rung.key);
    }
}

#[test]
fn all_rungs_learn_the_same() {
    let (data, _) = digits(320, 1);
    let mut first: Option<Vec<f32>> = None;
    for rung in ladder() {
        let mut learner = (rung.learner)(Settings::default()).unwrap();
        let start = learner.model().unwrap().parameters();
        learner.epoch(&data, &order(1, 1, 320), 1).unwrap();
        let found = learner.model().unwrap().parameters();
        assert!(check::error_f32(&start, &found) > 1e-2, "{} learns nothing", rung.key);
        let wanted = first.get_or_insert_with(|| found.clone());
        let error = check::error_f32(&found, wanted);
        assert!(error < 1e-5, "{}: {error}", rung.key);
    }
}
