//! How much of a test file the training text already has.

use std::collections::HashSet;

/// Words in a run.
pub const RUN: usize = 8;

/// The fraction of the words of `test` that lie in a run of [`RUN`] words which a training file has as well; 0 if there
/// are no words.
pub fn copied(test: &[u32], training: &[Vec<u32>]) -> f64 {
    // EXERCISE: begin
    let known: HashSet<&[u32]> = training.iter().flat_map(|file| file.windows(RUN)).collect();
    let mut is_copied = vec![false; test.len()];
    for (at, run) in test.windows(RUN).enumerate() {
        if known.contains(run) {
            is_copied[at..at + RUN].fill(true);
        }
    }
    let words = is_copied.iter().filter(|copied| **copied).count();
    words as f64 / test.len().max(1) as f64
    // EXERCISE: instead
    // // The Jaccard index with the most similar file.
    // let own: HashSet<&[u32]> = test.windows(RUN).collect();
    // let index = |file: &Vec<u32>| {
    //     let theirs: HashSet<&[u32]> = file.windows(RUN).collect();
    //     let (both, any) = (own.intersection(&theirs).count(), own.union(&theirs).count());
    //     both as f64 / any.max(1) as f64
    // };
    // training.iter().map(index).fold(0.0, f64::max)
    // EXERCISE: end
}
