//! The test of the exercise `loss-race`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use backprop::softmax::loss_in_place;
use exercise::loss_and_gradient;
use lab::check::{about, near, pairs, yours_over};
use lab::{Plan, Race, race::Results, random::SplitMix64};
use std::{hint::black_box, time::Instant};

/// Scores of deviation `scale`, and a label for each row.
fn batch([rows, classes]: [usize; 2], scale: f64) -> (Vec<f32>, Vec<u8>) {
    let mut random = SplitMix64::new((rows * classes) as u64);
    let scores = random.normals(rows * classes, scale);
    (scores, (0..rows).map(|_| random.below(classes.min(256)) as u8).collect())
}

/// The loss, and each probability minus its target, in f64.
fn reference(scores: &[f32], labels: &[u8], classes: usize) -> (f64, Vec<f64>) {
    let (mut loss, mut gradient) = (0.0, Vec::new());
    for (row, label) in scores.chunks_exact(classes).zip(labels) {
        let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let shifted: Vec<f64> = row.iter().map(|s| f64::from(*s) - f64::from(highest)).collect();
        let sum: f64 = shifted.iter().map(|s| s.exp()).sum();
        loss += sum.ln() - shifted[usize::from(*label)];
        let truth = |class: usize| if class == usize::from(*label) { 1.0 } else { 0.0 };
        gradient.extend(shifted.iter().enumerate().map(|(at, s)| s.exp() / sum - truth(at)));
    }
    (loss / labels.len() as f64, gradient)
}

/// Compares loss and gradient with the reference.
#[track_caller]
fn holds(scores: &[f32], labels: &[u8], classes: usize, what: &str) {
    let mut found = scores.to_vec();
    let loss = loss_and_gradient(&mut found, labels, classes);
    let (wanted_loss, wanted) = reference(scores, labels, classes);
    about(loss, wanted_loss, 1e-5, format!("{what}: the loss"));
    for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let found = f64::from(*found) * labels.len() as f64;
        let what = format!("{what}: row {}, class {}, times rows", at / classes, at % classes);
        near(found, *wanted, 1e-4 * wanted.abs() + 1e-6, what);
    }
}

#[test]
fn loss_and_gradient_are_right_in_every_shape() {
    for (rows, classes) in pairs([1, 2, 7, 128], [1, 2, 3, 10, 16, 17, 100, 1001]) {
        let (scores, labels) = batch([rows, classes], 3.0);
        holds(&scores, &labels, classes, &format!("{rows} rows of {classes}"));
    }
    let (scores, labels) = batch([2, 40_000], 3.0);
    holds(&scores, &labels, 40_000, "2 rows of 40000");
    loss_and_gradient(&mut [], &[], 10); // must not panic; the mean of nothing may be anything
}

#[test]
fn large_and_small_scores_neither_overflow_nor_vanish() {
    for scale in [0.0, 1e-6, 30.0, 1000.0, 1e30] {
        let (scores, labels) = batch([9, 23], scale);
        holds(&scores, &labels, 23, &format!("scores up to about {scale:e}"));
    }
    holds(&[1000.0, 0.0, -1000.0], &[0], 3, "1000, 0 and -1000");
    holds(&[-1e4, -1e4 - 1.0, -1e4 + 1.0], &[1], 3, "scores around -10000");
    // From the highest score down to where e to the power of it is no normal number any more.
    let stairs: Vec<f32> = (0..4400).map(|step| -0.025 * step as f32).collect();
    holds(&stairs, &[7], 4400, "scores from 0 to -110");
}

#[test]
fn what_is_not_finite_shows_or_counts_as_nothing() {
    for (bad, at) in pairs([f32::NAN, f32::INFINITY], [0, 5, 16, 36]) {
        let (mut scores, labels) = batch([3, 37], 1.0);
        scores[37 + at] = bad;
        let loss = loss_and_gradient(&mut scores, &labels, 37);
        assert!(loss.is_nan(), "a score of {bad} gives a loss of {loss}, and not NaN");
    }
    let (mut scores, _) = batch([3, 37], 1.0);
    scores[37..72].fill(f32::NEG_INFINITY);
    holds(&scores, &[4, 36, 0], 37, "classes with a score of -inf");
}

/// Both turns of each round. The batch is copied back before each of them, which is not timed.
fn turns(shape: [usize; 2]) -> lab::Result<Results> {
    let (scores, labels) = batch(shape, 3.0);
    let [_, classes] = shape;
    let timed = |work: fn(&mut [f32], &[u8], usize) -> f64| {
        let (scores, labels) = (&scores, &labels);
        let mut buffer = scores.clone();
        move |_| {
            buffer.copy_from_slice(scores);
            let began = Instant::now();
            black_box(work(&mut buffer, labels, classes));
            Ok(began.elapsed().as_secs_f64())
        }
    };
    let mut race = Race::new();
    race.turn("yours", timed(loss_and_gradient));
    race.turn("ours", timed(|scores, labels, n| loss_in_place(scores, labels, n, n)));
    race.run(Plan { max_samples: 10_000, ..Plan::QUICK })
}

/// Shown, not demanded: how fast it is depends on the machine.
#[test]
fn race() -> lab::Result<()> {
    // Without the right numbers there is no rate: the stub's would be meaningless.
    holds(&[1000.0, 0.0, -1000.0], &[0], 3, "1000, 0 and -1000");
    let mut line = "loss-race, yours over ours:".to_owned();
    for shape @ [rows, classes] in [[128, 10], [4096, 10], [64, 32_000]] {
        let told = yours_over(&turns(shape)?, "ours", "")?;
        line += &format!(" {rows}x{classes} {told},");
    }
    println!("{}", line.trim_end_matches(','));
    Ok(())
}
