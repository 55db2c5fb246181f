//! The test of the exercise `how-many-right`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{CLASSES, right};
use lab::check::{SplitMix64, near, pairs, some};

#[track_caller]
fn is(found: Option<f64>, wanted: f64, what: &str) {
    let found = some(found, format!("{what}: there are images, and so an accuracy"));
    near(found, wanted, 1e-12, what);
}

/// A row whose highest score is at `best`; `add` moves all of them.
fn row(best: usize, add: f32, random: &mut SplitMix64) -> [f32; CLASSES] {
    let mut row = [0.0; CLASSES].map(|_: f32| random.below(1000) as f32 / 1000.0 + add);
    row[best] = add + 2.0;
    row
}

#[test]
fn the_highest_score_decides_and_not_its_sign() {
    let mut random = SplitMix64::new(1);
    for (add, images) in pairs([0.0, -50.0, 50.0], [1, 7, 1000]) {
        let (mut scores, mut labels, mut hits) = (Vec::new(), Vec::new(), 0);
        for _ in 0..images {
            let (best, label) = (random.below(CLASSES), random.below(CLASSES));
            scores.extend(row(best, add, &mut random));
            labels.push(label as u8);
            hits += usize::from(best == label);
        }
        let what = format!("{images} images, {add} added to all scores");
        is(right(&scores, &labels), hits as f64 / images as f64, &what);
    }
}

#[test]
fn a_score_that_is_no_number_is_wrong() {
    let mut random = SplitMix64::new(2);
    for nan_at in 0..CLASSES {
        let mut scores = row(3, 0.0, &mut random);
        scores[nan_at] = f32::NAN;
        is(right(&scores, &[3]), 0.0, &format!("NaN at {nan_at}, the label is 3"));
    }
}

#[test]
fn a_tie_is_wrong() {
    is(right(&[0.5; CLASSES], &[0]), 0.0, "ten equal scores");
    let mut two = [0.0; CLASSES];
    (two[4], two[9]) = (1.0, 1.0);
    is(right(&two, &[4]), 0.0, "two highest scores, the label is the first of them");
    is(right(&two, &[9]), 0.0, "two highest scores, the label is the second of them");
}

#[test]
fn without_images_there_is_no_accuracy() {
    assert_eq!(right(&[], &[]), None);
}
