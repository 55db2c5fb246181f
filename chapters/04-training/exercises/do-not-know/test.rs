//! The test of the exercise `do-not-know`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Answer, threshold};

/// For each probability that occurs, how many are answered and whether enough of them are right; by counting.
fn slow(answers: &[Answer], wanted: f64) -> Option<(f64, usize)> {
    let mut best: Option<(f64, usize)> = None;
    for &(at, _) in answers {
        let answered = || answers.iter().filter(|answer| answer.0 >= at);
        let (count, right) = (answered().count(), answered().filter(|answer| answer.1).count());
        let enough = right as f64 >= wanted * count as f64;
        if enough && best.is_none_or(|best| count > best.1) {
            best = Some((at, count));
        }
    }
    best
}

#[test]
fn it_answers_as_many_as_it_may() {
    let answers = [(0.9, true), (0.6, false), (0.99, true), (0.8, true), (0.5, true)];
    assert_eq!(threshold(&answers, 1.0), Some((0.8, 3)));
    assert_eq!(threshold(&answers, 0.8), Some((0.5, 5)));
    assert_eq!(threshold(&answers, 0.0), Some((0.5, 5)));
}

#[test]
fn a_lower_threshold_may_be_good_enough_again() {
    let answers = [(0.9, true), (0.8, false), (0.7, true), (0.6, true), (0.5, true)];
    assert_eq!(threshold(&answers, 0.75), Some((0.5, 5)));
    assert_eq!(threshold(&[(0.9, false), (0.8, true)], 0.5), Some((0.8, 2)), "wrong at the top");
}

#[test]
fn equals_are_answered_together() {
    let answers = [(0.9, true), (0.7, true), (0.7, false), (0.7, true)];
    assert_eq!(threshold(&answers, 0.9), Some((0.9, 1)));
    assert_eq!(threshold(&answers, 0.75), Some((0.7, 4)));
}

#[test]
fn there_may_be_none() {
    assert_eq!(threshold(&[], 0.5), None);
    assert_eq!(threshold(&[(0.9, false), (0.8, true), (0.7, false)], 0.9), None);
}

#[test]
fn it_is_what_counting_finds() {
    // Sure answers are right more often.
    let answer = |i: u32| {
        let p = f64::from(10 + i * 37 % 90) / 100.0;
        (p, f64::from(i * 61 % 97) / 97.0 < p)
    };
    let answers: Vec<Answer> = (0..500).map(answer).collect();
    for wanted in [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0] {
        let found = threshold(&answers, wanted);
        println!("{wanted} right: {found:?}");
        assert_eq!(found, slow(&answers, wanted), "{wanted} right");
    }
}
