//! The test of the exercise `copied-words`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{RUN, copied};
use lab::check::{SplitMix64, all_near, near};

const LONG: &str = "long files of one word are no exception: 200,000 equal words";

/// So many words that occur nowhere else.
fn fresh(len: u32, from: u32) -> Vec<u32> {
    (from..from + len).collect()
}

#[test]
fn the_fraction_that_is_copied_by_hand() {
    let training: Vec<Vec<u32>> = (0..10).map(|file| fresh(100, 1000 * file)).collect();
    // Twenty words of each file, and as many new ones: half.
    let half =
        |file: u32| [fresh(20, 1000 * file + 30), fresh(20, 1_000_000 + 100 * file)].concat();
    let test: Vec<u32> = (0..10).flat_map(half).collect();
    let overlap = [fresh(9, 0), fresh(9, 100)].concat(); // 9 of 18 words, in two runs
    let two = [fresh(5, 0), fresh(5, 5)]; // a run that ends in the next training file
    all_near([
        ("pieces of ten files add up", copied(&test, &training), 0.5),
        ("the file itself", copied(&test, &[test.clone()]), 1.0),
        ("a new file", copied(&fresh(50, 1_000_000_000), &training), 0.0),
        ("runs that overlap count their words once", copied(&overlap, &[fresh(9, 0)]), 0.5),
        ("a run stays inside a file", copied(&fresh(10, 0), &two), 0.0),
        ("seven words have no run", copied(&fresh(7, 0), &[fresh(7, 0)]), 0.0),
        ("eight words are one run", copied(&fresh(8, 0), &[fresh(8, 0)]), 1.0),
        ("an empty test file", copied(&[], &[fresh(8, 0)]), 0.0),
        ("no training files", copied(&fresh(8, 0), &[]), 0.0),
        (LONG, copied(&vec![7; 200_000], &[vec![7; 100_000], vec![]]), 1.0),
    ]);
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
        let what = format!("the fraction of {} random words of {kinds} kinds", test.len());
        near(copied(&test, &training), wanted, 1e-12, what);
    }
}
