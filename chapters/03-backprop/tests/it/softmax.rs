use backprop::softmax::{accuracy, best, cross_entropy, loss_and_gradient, loss_in_place, softmax};
use backprop::{Error, check, random::SplitMix64};

#[test]
fn probabilities_add_up_to_one_however_large_the_scores() {
    let p = softmax(&[1.0, 2.0, 3.0_f64]);
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!((p[2] / p[1] - std::f64::consts::E).abs() < 1e-12);
    assert_eq!(softmax(&[1000.0_f32, 0.0]), [1.0, 0.0]);
    assert!(softmax(&[f32::NAN, 0.0])[0].is_nan());
}

#[test]
fn no_idea_costs_the_logarithm_of_the_classes() {
    assert!((cross_entropy(&[0.0; 10], 3) - 10f64.ln()).abs() < 1e-12);
    assert!((cross_entropy(&[0.0, 500.0], 0) - 500.0_f64).abs() < 1e-12);
    assert!(cross_entropy(&[0.0, 500.0_f64], 1).abs() < 1e-12);
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    let mut random = SplitMix64::new(8);
    for (batch, classes) in [(1, 1), (1, 2), (5, 10), (3, 7)] {
        let scores: Vec<f64> = (0..batch * classes).map(|_| 3.0 * random.normal()).collect();
        let labels: Vec<u8> = (0..batch).map(|_| random.below(classes) as u8).collect();
        let (_, gradient) = loss_and_gradient(&scores, &labels, classes).unwrap();
        let wanted = check::differences(&scores, |scores| {
            loss_and_gradient(scores, &labels, classes).unwrap().0
        });
        assert!(check::error(&gradient, &wanted) < 1e-8, "{batch} {classes}");
    }
}

#[test]
fn in_place_it_is_the_same_bit_for_bit() {
    let mut random = SplitMix64::new(4);
    let scores: Vec<f32> = (0..60).map(|_| 4.0 * random.normal() as f32).collect();
    let labels = [0, 9, 3, 3, 7, 1];
    let (loss, gradient) = loss_and_gradient(&scores, &labels, 10).unwrap();
    for width in [10, 16] {
        let mut rows = vec![f32::NAN; 6 * width];
        for (row, scores) in rows.chunks_exact_mut(width).zip(scores.chunks_exact(10)) {
            row[..10].copy_from_slice(scores);
        }
        assert_eq!(loss_in_place(&mut rows, &labels, 10, width), loss);
        for (row, wanted) in rows.chunks_exact(width).zip(gradient.chunks_exact(10)) {
            assert_eq!(&row[..10], wanted);
            assert!(row[10..].iter().all(|x| *x == 0.0));
        }
    }
}

#[test]
fn a_score_that_is_not_a_number_shows() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut scores = [0.0; 10];
        scores[7] = bad;
        assert!(loss_and_gradient(&scores, &[1], 10).unwrap().0.is_nan());
        assert!(loss_in_place(&mut scores, &[1], 10, 10).is_nan());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    assert!(matches!(loss_and_gradient::<f32>(&[], &[], 10), Err(Error::EmptyBatch)));
    assert!(matches!(loss_and_gradient(&[0.0; 9], &[1], 10), Err(Error::Rows { .. })));
    assert!(matches!(loss_and_gradient(&[0.0; 10], &[1, 2], 10), Err(Error::Count { .. })));
    assert!(matches!(loss_and_gradient(&[0.0; 10], &[10], 10), Err(Error::Label { .. })));
}

#[test]
fn accuracy_counts_correct_predictions_and_the_first_of_equal_scores_wins() {
    assert_eq!(best(&[0.0, 2.0, 2.0]), 1);
    assert_eq!(accuracy(&[0.0, 1.0, 3.0, 2.0, 5.0, 4.0], &[1, 1, 0], 2).unwrap(), 2.0 / 3.0);
}
