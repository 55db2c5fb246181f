//! The test of the exercise `token-lists`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Lists, lists};
use lab::check::{SplitMix64, numbers, same_bits};
use std::cell::Cell;

/// The reader's lists, whose form is checked.
#[track_caller]
fn found(tokens: &[usize], vocabulary: usize) -> Lists {
    let lists = lists(tokens.len(), vocabulary, |at| tokens[at]);
    let what = format!("{} positions, {vocabulary} tokens", tokens.len());
    assert_eq!(lists.starts.len(), vocabulary + 1, "{what}: a start for each token, and the end");
    assert_eq!(lists.positions.len(), tokens.len(), "{what}: each position once");
    assert_eq!(lists.starts[0], 0, "{what}: the first list begins at 0");
    assert_eq!(lists.starts[vocabulary], tokens.len(), "{what}: the last list ends at the end");
    assert!(lists.starts.is_sorted(), "{what}: a list ends before it begins");
    lists
}

#[track_caller]
fn is_right(tokens: &[usize], vocabulary: usize) {
    let lists = found(tokens, vocabulary);
    let mut wanted = vec![Vec::new(); vocabulary];
    tokens.iter().enumerate().for_each(|(at, token)| wanted[*token].push(at));
    for (token, wanted) in wanted.iter().enumerate() {
        let own = &lists.positions[lists.starts[token]..lists.starts[token + 1]];
        assert_eq!(own, wanted, "the positions of token {token} of {vocabulary}, ascending");
    }
}

#[test]
fn each_token_has_its_positions() {
    is_right(&[2, 0, 2, 1, 2, 0], 3);
    is_right(&[4, 4, 4], 9);
    is_right(&[], 5);
    is_right(&[], 0);
    is_right(&[0], 1);
    let mut random = SplitMix64::new(1);
    for (count, vocabulary) in [(1, 7), (100, 1), (333, 50), (50, 333), (2000, 50_257)] {
        let tokens: Vec<usize> = (0..count).map(|_| random.below(vocabulary)).collect();
        is_right(&tokens, vocabulary);
    }
}

#[test]
fn no_position_is_looked_at_more_than_twice() {
    for (count, vocabulary) in [(300, 100), (10_000, 3), (0, 100)] {
        let asked = Cell::new(0);
        lists(count, vocabulary, |at| {
            asked.set(asked.get() + 1);
            at * at % vocabulary
        });
        let (asked, what) = (asked.get(), format!("{count} positions, {vocabulary} tokens"));
        assert!(asked <= 2 * count, "{what}: asked {asked} times, twice for each is the most");
    }
}

#[test]
fn a_sum_over_each_list_has_the_bits_of_the_plain_loop() {
    let (count, vocabulary) = (5000, 37);
    let mut random = SplitMix64::new(6);
    // Small tokens are frequent, as in a text.
    let tokens: Vec<usize> =
        (0..count).map(|_| random.below(1 + random.clone().below(vocabulary))).collect();
    let values = numbers(count, 7);
    let mut plain = vec![0.0_f32; vocabulary];
    tokens.iter().zip(&values).for_each(|(token, value)| plain[*token] += value);
    let lists = found(&tokens, vocabulary);
    // The owners in any order.
    for token in random.order(vocabulary) {
        let own = &lists.positions[lists.starts[token]..lists.starts[token + 1]];
        let sum = own.iter().fold(0.0_f32, |sum, at| sum + values[*at]);
        same_bits(sum, plain[token], format!("token {token}: the sum of its list has other bits"));
    }
}

#[test]
fn a_large_batch_of_a_large_vocabulary() {
    // Only with a cost of positions plus tokens does this end soon.
    let (count, vocabulary) = (1_000_000, 500_000);
    let asked = Cell::new(0_u64);
    let limit = 2 * count as u64;
    let lists = lists(count, vocabulary, |at| {
        asked.set(asked.get() + 1);
        assert!(asked.get() <= limit, "{count} positions: asked more than {limit} times");
        at * 7919 % vocabulary
    });
    for token in 0..vocabulary {
        let length = lists.starts[token + 1] - lists.starts[token];
        assert_eq!(length, count / vocabulary, "positions of token {token}");
    }
}
