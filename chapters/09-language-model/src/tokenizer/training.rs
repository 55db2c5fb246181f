//! Learning merges.
//!
//! A text of 50 MB has some 14 million chunks and far fewer distinct ones, so each distinct chunk is kept once, with how
//! often it occurs. Pairs are counted once. A merge then changes few counts: the pairs to the left and to the right of each
//! place where it happens. The counts are kept up to date, and a queue gives the next pair.
//!
//! An entry of the queue may be out of date, since counts fall when a neighbour is merged away. It is checked when it comes
//! out: if its count is no longer true, it goes back with the true one. A pair whose count rises gets a new entry at once, so
//! the first entry is never too small.
//!
//! Ties go to the pair of the smaller tokens. So the merges depend on the texts alone.

use super::chunks::{LONGEST, chunks};
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap, HashSet},
};

/// Two neighbouring tokens.
pub type Pair = (u32, u32);

/// How often each chunk occurs.
pub type Counts<'t> = HashMap<&'t [u8], u64, FxBuildHasher>;

/// Counts the chunks of all texts, on all threads of rayon.
pub fn count<T: AsRef<[u8]> + Sync>(texts: &[T]) -> Counts<'_> {
    let counted = texts.par_iter().fold(Counts::default, |mut counts, text| {
        for chunk in chunks(text.as_ref()) {
            *counts.entry(chunk).or_default() += 1;
        }
        counts
    });
    counted.reduce(Counts::default, |one, two| {
        let (mut all, fewer) = if one.len() < two.len() { (two, one) } else { (one, two) };
        for (chunk, count) in fewer {
            *all.entry(chunk).or_default() += count;
        }
        all
    })
}

/// Learns merges until there are so many tokens, or no pair is left that occurs twice.
pub fn merges(counts: Counts<'_>, tokens: usize) -> Vec<Pair> {
    // ANCHOR: merges
    let mut words = words(counts);
    let mut pairs = Pairs::of(&words);
    let mut queue: BinaryHeap<Entry> = pairs.counts.iter().map(entry).collect();
    // ANCHOR_END: merges
    let (mut known, mut joined, mut merges) = (Tokens::default(), HashSet::new(), Vec::new());
    // ANCHOR: merges
    while known.len() < tokens
        && let Some((count, Reverse(pair))) = queue.pop()
    {
        let now = pairs.counts.get(&pair).copied().unwrap_or_default();
        if now < 2 && count < 2 {
            break;
        } else if now != count {
            queue.push((now, Reverse(pair))); // neighbours have changed
        } else if let Some(new) = known.join(pair) {
            queue.extend(pairs.join(&mut words, pair, new));
            // ANCHOR_END: merges
            // An old token that was made anew can bring back a pair that was joined before.
            // ANCHOR: merges
            if joined.insert(pair) {
                merges.push(pair);
            }
        }
    }
    // ANCHOR_END: merges
    merges
}

/// The bytes of all tokens so far, and the token of these bytes.
pub struct Tokens {
    bytes: Vec<Box<[u8]>>,
    known: HashMap<Box<[u8]>, u32, FxBuildHasher>,
}

impl Default for Tokens {
    /// The 256 bytes.
    fn default() -> Self {
        let bytes: Vec<Box<[u8]>> = (0..=255).map(|byte: u8| Box::from([byte])).collect();
        Self { known: bytes.iter().cloned().zip(0..).collect(), bytes }
    }
}

impl Tokens {
    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "there are 256 at least")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Their bytes, in their order.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.iter().map(AsRef::as_ref)
    }

    /// The token that two others make together, which may be an old one. Nothing if it is longer than any chunk.
    pub fn join(&mut self, (a, b): Pair) -> Option<u32> {
        let bytes = [&*self.bytes[a as usize], &*self.bytes[b as usize]].concat();
        if bytes.len() > LONGEST {
            return None;
        }
        Some(*self.known.entry(bytes.into()).or_insert_with_key(|bytes| {
            self.bytes.push(bytes.clone());
            self.bytes.len() as u32 - 1
        }))
    }
}

/// A count and its pair: the largest count comes first, and of equal ones the smallest pair.
type Entry = (i64, Reverse<Pair>);

fn entry((&pair, &count): (&Pair, &i64)) -> Entry {
    (count, Reverse(pair))
}

/// A distinct chunk: its tokens so far, and how often it occurs.
struct Word {
    tokens: Vec<u32>,
    count: i64,
}

/// The chunks of two bytes or more.
fn words(counts: Counts<'_>) -> Vec<Word> {
    let tokens = |chunk: &[u8]| chunk.iter().map(|byte| u32::from(*byte)).collect();
    let long = counts.into_iter().filter(|(chunk, _)| chunk.len() > 1);
    long.map(|(chunk, count)| Word { tokens: tokens(chunk), count: count as i64 }).collect()
}

/// How often each pair occurs in all texts, and in which words: a word may stand there twice, or in vain.
#[derive(Default)]
struct Pairs {
    counts: HashMap<Pair, i64, FxBuildHasher>,
    places: HashMap<Pair, Vec<u32>, FxBuildHasher>,
}

impl Pairs {
    fn of(words: &[Word]) -> Self {
        let mut pairs = Self::default();
        for (word, at) in words.iter().zip(0..) {
            for pair in word.tokens.windows(2) {
                pairs.change((pair[0], pair[1]), word.count, at);
            }
        }
        pairs
    }

    /// Counts a pair `by` more or less; where it is more, it is in the word `at`.
    fn change(&mut self, pair: Pair, by: i64, at: u32) {
        *self.counts.entry(pair).or_default() += by;
        if by > 0 {
            self.places.entry(pair).or_default().push(at);
        }
    }

    /// Joins a pair wherever it occurs. Returns the entries of all pairs that this makes.
    fn join(&mut self, words: &mut [Word], pair: Pair, new: u32) -> Vec<Entry> {
        let mut fresh = BTreeSet::new();
        for at in self.places.remove(&pair).unwrap_or_default() {
            let Word { tokens, count } = &mut words[at as usize];
            join(tokens, pair, new, |other, by| {
                self.change(other, by * *count, at);
                if by > 0 {
                    fresh.insert(other);
                }
            });
        }
        // In a row of equal tokens the pair is its own neighbour, and was counted down above.
        self.counts.remove(&pair);
        fresh.iter().filter_map(|pair| self.counts.get_key_value(pair)).map(entry).collect()
    }
}

/// Joins a pair in a word, from left to right, and tells which pairs are lost and made.
fn join(tokens: &mut Vec<u32>, (a, b): Pair, new: u32, mut change: impl FnMut(Pair, i64)) {
    // ANCHOR: join
    let (mut from, mut to) = (0, 0);
    while from < tokens.len() {
        if tokens[from..].starts_with(&[a, b]) {
            if to > 0 {
                change((tokens[to - 1], a), -1);
                change((tokens[to - 1], new), 1);
            }
            if let Some(&after) = tokens.get(from + 2) {
                change((b, after), -1);
                change((new, after), 1);
            }
            tokens[to] = new;
            from += 2;
        } else {
            tokens[to] = tokens[from];
            from += 1;
        }
        to += 1;
    }
    tokens.truncate(to);
    // ANCHOR_END: join
}
