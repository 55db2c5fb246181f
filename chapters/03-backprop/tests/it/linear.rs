use crate::train::digits;
use backprop::linear::{Regression, train, watched};
use backprop::{Error, train::test};

#[test]
fn one_layer_reads_most_drawn_digits() {
    let (train_on, tested) = digits(2000, 500);
    let model = train(&Regression { steps: 300, ..Regression::default() }, &train_on, 10).unwrap();
    let accuracy = test(&model, &tested).unwrap();
    assert!(accuracy > 0.75, "{accuracy}");
}

#[test]
fn the_loss_begins_without_an_idea_and_falls() {
    let (train_on, _) = digits(1000, 1);
    let mut losses = Vec::new();
    let rule = Regression { steps: 100, ..Regression::default() };
    watched(&rule, &train_on, 10, |at, loss| losses.push((at, loss))).unwrap();
    assert_eq!((losses.len(), losses[0].0, losses[99].0), (100, 1, 100));
    assert!((losses[0].1 - 10f64.ln()).abs() < 1e-6, "{}", losses[0].1);
    assert!(losses[99].1 < 1.2, "{}", losses[99].1);
}

#[test]
fn a_batch_may_be_larger_than_the_data_but_not_empty() {
    let (few, _) = digits(30, 1);
    let rule = Regression { batch: 100, steps: 3, ..Regression::default() };
    assert!(train(&rule, &few, 10).is_ok());
    let none = Regression { batch: 0, ..rule };
    assert!(matches!(train(&none, &few, 10), Err(Error::EmptyBatch)));
    let wild = Regression { lr: 1e38, ..rule };
    assert!(matches!(train(&wild, &few, 10), Err(Error::Diverged { .. })));
}
