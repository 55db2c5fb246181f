//! Near-duplicates, found by `MinHash`.
//!
//! Crates copy from each other: build scripts, helpers, whole modules in two versions. A copy in the training text of what
//! the model is tested on makes it look better than it is (Lee et al. 2022). Two files are held against each other by their
//! *shingles* (Broder 1997): all runs of [`RUN`] words, where a word is a name, a number or one sign, and spaces do not
//! count. The Jaccard index of two files is the share of shingles that both have among those that one of them has.
//!
//! To compare every file with every other would take too long. `MinHash` keeps [`MINIMA`] numbers of each file: for each of
//! as many hash functions, the smallest hash of all its shingles. Two files have the same minimum with a probability that
//! is their Jaccard index, so the share of equal minima estimates it, with a standard error of at most 1/16. Files that are
//! alike are found without comparing all pairs: the minima are cut into [`BANDS`] bands of four, and only files that agree
//! in a whole band are compared.

use lab::random;
use rayon::prelude::*;
use std::collections::HashMap;

/// Words in a shingle.
pub const RUN: usize = 8;
/// Numbers that are kept of a file.
pub const MINIMA: usize = 64;
/// Bands that they are cut into.
pub const BANDS: usize = 16;
/// Two files with so many equal minima or more are duplicates: 80%.
pub const ALIKE: usize = 52;

/// The smallest hashes of a file's shingles.
pub type Signature = [u64; MINIMA];

/// For each text whether it is the first of its kind: `false` if it is nearly the same as one before it that is kept.
pub fn first_of_each(texts: &[&[u8]]) -> Vec<bool> {
    let signatures: Vec<Signature> = texts.par_iter().map(|text| signature(text)).collect();
    let mut bands = HashMap::<(usize, &[u64]), Vec<usize>>::new();
    let mut first = Vec::with_capacity(texts.len());
    for (at, signature) in signatures.iter().enumerate() {
        let keys = || signature.chunks(MINIMA / BANDS).enumerate();
        let seen = keys().filter_map(|key| bands.get(&key)).flatten();
        let is_first =
            !seen.into_iter().any(|&other| equal(signature, &signatures[other]) >= ALIKE);
        if is_first {
            keys().for_each(|key| bands.entry(key).or_default().push(at));
        }
        first.push(is_first);
    }
    first
}

/// How many minima two files share.
pub fn equal(one: &Signature, two: &Signature) -> usize {
    one.iter().zip(two).filter(|(a, b)| a == b).count()
}

// ANCHOR: signature
/// The minima of a text's shingles.
pub fn signature(text: &[u8]) -> Signature {
    let mut minima = [u64::MAX; MINIMA];
    for shingle in shingles(text) {
        for (least, seed) in minima.iter_mut().zip(&SEEDS) {
            *least = (*least).min((shingle ^ seed).wrapping_mul(ODD));
        }
    }
    minima
}
// ANCHOR_END: signature

/// One hash function for each minimum: its seed turns bits over, and the product with an odd number spreads them.
const SEEDS: Signature = {
    let (mut seeds, mut at) = ([0; MINIMA], 0);
    while at < MINIMA {
        seeds[at] = random::at(0, at as u64);
        at += 1;
    }
    seeds
};
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of each run of [`RUN`] words; of all words together where there are fewer.
pub fn shingles(text: &[u8]) -> Vec<u64> {
    let words: Vec<u64> = words(text).map(hash).collect();
    let together =
        |run: &[u64]| random::at(run.iter().fold(0, |all: u64, word| all.rotate_left(7) ^ word), 0);
    words.windows(RUN.clamp(1, words.len().max(1))).map(together).collect()
}

/// Names and numbers, and each other visible byte by itself.
pub fn words(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || !b.is_ascii();
    std::iter::from_fn(move || {
        text = text.trim_ascii_start();
        let end = text.iter().take_while(|b| is_name(b)).count().max(1).min(text.len());
        let (word, rest) = text.split_at(end);
        text = rest;
        (!word.is_empty()).then_some(word)
    })
}

/// The hash of Fowler, Noll and Vo, its bits then spread.
fn hash(word: &[u8]) -> u64 {
    let byte = |all: u64, b: &u8| (all ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
    random::at(word.iter().fold(0xcbf2_9ce4_8422_2325, byte), 0)
}
