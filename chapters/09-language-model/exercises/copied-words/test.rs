//! The test of the exercise `copied-words`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{RUN, copied};
use lab::random::SplitMix64;

/// So many words that occur nowhere else.
fn fresh(len: u32, from: u32) -> Vec<u32> {
    (from..from + len).collect()
}

#[track_caller]
fn is(found: f64, wanted: f64, what: &str) {
    assert!(
        (found - wanted).abs() < 1e-12,
        "{what}: a fraction of {found} is copied? It is {wanted}"
    );
}

#[test]
fn pieces_of_many_files_add_up() {
    let training: Vec<Vec<u32>> = (0..10).map(|file| fresh(100, 1000 * file)).collect();
    // Twenty words of each file, and as many new ones: half.
    let mut test = Vec::new();
    for file in 0..10 {
        test.extend(fresh(20, 1000 * file + 30));
        test.extend(fresh(20, 1_000_000 + 100 * file));
    }
    is(copied(&test, &training), 0.5, "pieces of ten files");
    is(copied(&test, &[test.clone()]), 1.0, "the file itself");
    is(copied(&fresh(50, 1_000_000_000), &training), 0.0, "a new file");
}

#[test]
fn runs_that_overlap_count_their_words_once() {
    let training = [fresh(9, 0)];
    let mut test = fresh(9, 0);
    test.extend(fresh(9, 100));
    is(copied(&test, &training), 0.5, "9 of 18 words, in two runs");
}

#[test]
fn a_run_stays_inside_a_file() {
    let (one, two) = (fresh(5, 0), fresh(5, 5));
    let test = fresh(10, 0);
    is(copied(&test, &[one, two]), 0.0, "a run that ends in the next training file");
    is(copied(&fresh(7, 0), &[fresh(7, 0)]), 0.0, "seven words have no run");
    is(copied(&fresh(8, 0), &[fresh(8, 0)]), 1.0, "eight words are one run");
    is(copied(&[], &[fresh(8, 0)]), 0.0, "an empty test file");
    is(copied(&fresh(8, 0), &[]), 0.0, "no training files");
}

#[test]
fn every_word_is_counted_as_the_definition_says() {
    let mut random = SplitMix64::new(3);
    for round in 0..60 {
        // With few different words, runs meet by chance.
        let kinds = 1 + round % 3;
        let mut file = |most: usize| -> Vec<u32> {
            let len = random.below(most);
            (0..len).map(|_| random.below(kinds) as u32).collect()
        };
        let training: Vec<Vec<u32>> = (0..4).map(|_| file(40)).collect();
        let test = file(90);
        let is_known = |run: &[u32]| training.iter().any(|f| f.windows(RUN).any(|r| r == run));
        let in_a_run = |at: usize| {
            let first = (at + 1).saturating_sub(RUN);
            (first..=at).any(|from| test.get(from..from + RUN).is_some_and(is_known))
        };
        let words = (0..test.len()).filter(|at| in_a_run(*at)).count();
        let wanted = words as f64 / test.len().max(1) as f64;
        let what = format!("{} random words of {kinds} kinds", test.len());
        is(copied(&test, &training), wanted, &what);
    }
}

#[test]
fn long_files_of_one_word_are_no_exception() {
    is(copied(&vec![7; 200_000], &[vec![7; 100_000], vec![]]), 1.0, "200,000 equal words");
}
