//! The test of the exercise `do-not-know`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Answer, threshold};
use lab::check::all;

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
fn by_hand() {
    let mixed = [(0.9, true), (0.6, false), (0.99, true), (0.8, true), (0.5, true)];
    let again = [(0.9, true), (0.8, false), (0.7, true), (0.6, true), (0.5, true)];
    let equals = [(0.9, true), (0.7, true), (0.7, false), (0.7, true)];
    all([
        ("it answers as many as it may", threshold(&mixed, 1.0), Some((0.8, 3))),
        ("it answers as many as it may", threshold(&mixed, 0.8), Some((0.5, 5))),
        ("it answers as many as it may", threshold(&mixed, 0.0), Some((0.5, 5))),
        ("a lower threshold may be good enough again", threshold(&again, 0.75), Some((0.5, 5))),
        ("wrong at the top", threshold(&[(0.9, false), (0.8, true)], 0.5), Some((0.8, 2))),
        ("equals are answered together", threshold(&equals, 0.9), Some((0.9, 1))),
        ("equals are answered together", threshold(&equals, 0.75), Some((0.7, 4))),
        ("there may be none", threshold(&[], 0.5), None),
        ("there may be none", threshold(&[(0.9, false), (0.8, true), (0.7, false)], 0.9), None),
    ]);
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
