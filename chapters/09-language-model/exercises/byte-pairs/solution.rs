//! A step of byte-pair encoding. Sennrich, Haddow and Birch 2016, "Neural machine translation of rare words with subword units".

/// Two neighbouring tokens.
pub type Pair = (u32, u32);

/// The pair of neighbours that occurs most often, overlaps included; of several, the smallest. None if no pair occurs twice.
pub fn most_frequent(tokens: &[u32]) -> Option<Pair> {
    // EXERCISE: begin
    let mut counts = std::collections::BTreeMap::<Pair, usize>::new();
    for pair in tokens.windows(2) {
        *counts.entry((pair[0], pair[1])).or_default() += 1;
    }
    // Of equal counts `max_by_key` takes the last: backwards, that is the smallest pair.
    let (pair, count) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    (count > 1).then_some(pair)
    // EXERCISE: instead
    // // The first pair, however often it occurs.
    // tokens.first_chunk().map(|[a, b]| (*a, *b))
    // EXERCISE: end
}

/// The tokens, in which the pair has become the token `new` wherever it occurs, from left to right.
pub fn join(tokens: &[u32], pair: Pair, new: u32) -> Vec<u32> {
    // EXERCISE: begin
    let mut joined = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&[pair.0, pair.1]) {
            joined.push(new);
            at += 2;
        } else {
            joined.push(tokens[at]);
            at += 1;
        }
    }
    joined
    // EXERCISE: instead
    // let _ = (pair, new);
    // tokens.to_vec()
    // EXERCISE: end
}
