use backprop::{check::error_f32, softmax};
use lab::random::numbers;
use language_model::layers::loss::backward;

#[test]
fn equals_chapter_threes_softmax() {
    for (rows, vocabulary) in [(1, 1), (4, 7), (3, 50)] {
        let scores: Vec<f32> = numbers(rows * vocabulary, 1).iter().map(|x| 9.0 * x).collect();
        let targets: Vec<u32> = (0..rows).map(|row| (row * 5 % vocabulary) as u32).collect();
        let labels: Vec<u8> = targets.iter().map(|t| *t as u8).collect();
        let (loss, gradient) = softmax::loss_and_gradient(&scores, &labels, vocabulary).unwrap();
        let (mut found, mut losses) = (scores, vec![0.0; rows]);
        backward(&mut found, &targets, &mut losses, vocabulary, 1.0 / rows as f32);
        assert!(vocabulary == 1 || error_f32(&found, &gradient) < 1e-5);
        let mean = losses.iter().sum::<f32>() / rows as f32;
        assert!((f64::from(mean) - loss).abs() < 1e-5, "{mean} {loss}");
    }
}

#[test]
fn what_is_not_a_number_shows() {
    let (mut scores, mut losses) = ([0.0, f32::NAN, 1.0, f32::INFINITY], [0.0; 2]);
    backward(&mut scores, &[0, 1], &mut losses, 2, 1.0);
    assert!(losses.iter().all(|loss| loss.is_nan()), "{losses:?}");
}
