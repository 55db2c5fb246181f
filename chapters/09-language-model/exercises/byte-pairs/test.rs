//! The test of the exercise `byte-pairs`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{join, most_frequent};
use lab::random::SplitMix64;
use std::cmp::Reverse;

#[test]
fn the_most_frequent_pair_wins_and_of_equals_the_smallest() {
    for (tokens, wanted) in [
        (&[1, 2, 3, 1, 2][..], Some((1, 2))),
        (&[5, 6, 1, 2, 5, 6, 1, 2, 5, 6], Some((5, 6))),
        // (4, 9), (9, 4) and (4, 4) occur twice each.
        (&[4, 9, 4, 4, 9, 4, 4], Some((4, 4))),
        (&[9, 8, 7, 9, 8, 7], Some((8, 7))),
        // Pairs may overlap.
        (&[7, 7, 7], Some((7, 7))),
        (&[2, 1, 0, 3], None),
        (&[1, 2], None),
        (&[1], None),
        (&[], None),
    ] {
        assert_eq!(most_frequent(tokens), wanted, "the pair of {tokens:?}");
    }
}

#[test]
fn a_pair_is_joined_from_left_to_right() {
    for (tokens, pair, wanted) in [
        (&[1, 2, 3, 1, 2][..], (1, 2), &[9, 3, 9][..]),
        (&[7, 7, 7], (7, 7), &[9, 7]),
        (&[7, 7, 7, 7], (7, 7), &[9, 9]),
        (&[2, 1, 2], (1, 2), &[2, 9]),
        (&[1, 3, 2], (1, 2), &[1, 3, 2]),
        (&[1], (1, 1), &[1]),
        (&[], (1, 2), &[]),
    ] {
        assert_eq!(join(tokens, pair, 9), wanted, "{pair:?} in {tokens:?}");
    }
}

/// The winner by its definition: each pair counts its own places.
fn reference(tokens: &[u32]) -> Option<(u32, u32)> {
    let pairs: Vec<(u32, u32)> = tokens.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let count = |pair: &(u32, u32)| pairs.iter().filter(|other| *other == pair).count();
    let frequent = pairs.iter().filter(|pair| count(pair) > 1);
    frequent.max_by_key(|pair| (count(pair), Reverse(**pair))).copied()
}

#[test]
fn merges_on_random_tokens_can_be_undone() {
    let mut random = SplitMix64::new(3);
    for len in [2, 10, 60, 200] {
        let text: Vec<u32> = (0..len).map(|_| random.below(4) as u32).collect();
        let (mut tokens, mut merges) = (text.clone(), Vec::new());
        for new in 4..20 {
            let pair = most_frequent(&tokens);
            assert_eq!(pair, reference(&tokens), "the pair of {tokens:?}");
            let Some(pair) = pair else { break };
            let joined = join(&tokens, pair, new);
            assert!(joined.len() < tokens.len(), "{pair:?} was not joined in {tokens:?}");
            (tokens, _) = (joined, merges.push((pair, new)));
        }
        for &((a, b), new) in merges.iter().rev() {
            let apart = |token: u32| if token == new { vec![a, b] } else { vec![token] };
            tokens = tokens.into_iter().flat_map(apart).collect();
        }
        assert_eq!(tokens, text, "the merges lose something");
    }
}
