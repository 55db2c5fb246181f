use dfdx::data::OneHotEncode;
use dfdx::losses::cross_entropy_with_logits_loss;
use dfdx::prelude::{AsArray, Const, Cpu, SampleTensor, Tensor, Trace};
use training::learning::loss::{Tally, softmax};

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

#[test]
fn softmax_gives_probabilities() {
    let p = softmax(&[1.0, 2.0, 3.0]);
    close(p.iter().sum(), 1.0, 1e-12);
    close(p[2] / p[1], std::f64::consts::E, 1e-12);
    let huge = softmax(&[1000.0, 0.0]);
    close(huge[0], 1.0, 1e-12);
}

#[test]
fn equals_dfdx() {
    let dev = Cpu::seed_from_u64(5);
    let scores: Tensor<(usize, Const<10>), f32, _> = dev.sample_normal_like(&(7, Const)) * 4.0;
    let labels = [3, 1, 4, 1, 5, 9, 2];
    let hot = dev.one_hot_encode(Const, labels.map(usize::from).to_vec());
    let theirs = cross_entropy_with_logits_loss(scores.leaky_trace(), hot).array();
    let ours = Tally::default().add(&scores.as_vec(), &labels);
    close(ours, f64::from(theirs), 1e-5);
}

#[test]
fn counts_correct_predictions() {
    let mut tally = Tally::default();
    let mut scores = vec![0.0; 30];
    scores[3] = 1.0; // predicts 3
    scores[10 + 4] = 1.0; // predicts 4
    scores[20 + 5] = 1.0; // predicts 5
    tally.add(&scores, &[3, 4, 6]);
    assert_eq!((tally.right, tally.seen), (2, 3));
    close(tally.accuracy(), 2.0 / 3.0, 1e-12);
    close(tally.mean_loss(), tally.loss / 3.0, 0.0);
}

#[test]
fn a_score_that_is_not_a_number_shows() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut scores = vec![0.0; 10];
        scores[7] = bad;
        assert!(Tally::default().add(&scores, &[1]).is_nan());
    }
}
