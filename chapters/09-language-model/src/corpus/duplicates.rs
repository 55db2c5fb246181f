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
fn equal(one: &Signature, two: &Signature) -> usize {
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
fn shingles(text: &[u8]) -> Vec<u64> {
    let words: Vec<u64> = words(text).map(hash).collect();
    let together =
        |run: &[u64]| random::at(run.iter().fold(0, |all: u64, word| all.rotate_left(7) ^ word), 0);
    words.windows(RUN.clamp(1, words.len().max(1))).map(together).collect()
}

/// Names and numbers, and each other visible byte by itself.
fn words(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A text of so many functions, with names by a seed.
    fn functions(count: u64, seed: u64) -> String {
        let mut random = random::SplitMix64::new(seed);
        let mut text = String::new();
        for _ in 0..count {
            let [a, b, c] = [0; 3].map(|_| random.below(1000));
            text += &format!("fn f{a}(x: u{b}) -> u{b} {{\n    x.g{c}({a}) + {b}\n}}\n\n");
        }
        text
    }

    #[test]
    fn equal_minima_estimate_the_jaccard_index() {
        for shared in [0, 20, 50, 80, 95] {
            let both = functions(shared, 1);
            let (one, two) =
                (both.clone() + &functions(100 - shared, 2), both + &functions(100 - shared, 3));
            let sets = [&one, &two]
                .map(|text| shingles(text.as_bytes()).into_iter().collect::<BTreeSet<_>>());
            let union = sets[0].union(&sets[1]).count() as f64;
            let jaccard = sets[0].intersection(&sets[1]).count() as f64 / union;
            let [a, b] = [&one, &two].map(|text| signature(text.as_bytes()));
            let estimate = equal(&a, &b) as f64 / MINIMA as f64;
            assert!((jaccard - estimate).abs() < 0.16, "{shared}: {jaccard} against {estimate}");
        }
    }

    #[test]
    fn copies_go_and_the_first_stays() {
        let text = functions(50, 1);
        let spaced = text.replace('\n', "\n\n    ");
        let renamed = text.replacen("fn f", "fn other", 2);
        let half = functions(25, 1) + &functions(25, 9);
        let other = functions(50, 2);
        let short = ["fn a() {}", "fn a()  {}", "fn b() {}"];
        let all = [&[&*text, &*other, &*spaced, &*renamed, &*half], &short[..]].concat();
        let all: Vec<&[u8]> = all.into_iter().map(str::as_bytes).collect();
        let wanted = [true, true, false, false, true, true, false, true];
        assert_eq!(first_of_each(&all), wanted);
        assert!(first_of_each(&[]).is_empty());
    }

    #[test]
    fn any_bytes_have_shingles() {
        for text in [
            &b""[..],
            b" \n",
            b"\0\0\0",
            b"\xff\xfe\xfd",
            b"x",
            b"a b c d e f g h",
            "größe = 1".as_bytes(),
        ] {
            assert_eq!(signature(text), signature(&[b"  ", text, b"\n"].concat()), "{text:?}");
        }
        let line = vec![b'('; 2 << 20];
        assert_eq!(shingles(&line).len(), line.len() - RUN + 1);
        assert_eq!(words("fn größe_1(a)".as_bytes()).count(), 5);
    }
}
