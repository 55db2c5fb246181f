//! The test of the exercise `kv-cache`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Head, Projected};
use lab::{check::near, random::numbers};
use std::cell::Cell;

const SIZE: usize = 6;

/// Random but fixed projections of each token.
fn project(token: u32) -> Projected {
    let row = |part: u64| numbers(SIZE, 3 * u64::from(token) + part);
    Projected { query: row(0), key: row(1), value: row(2) }
}

/// What the head says at the last token of a text: everything computed anew, in f64.
fn reference(text: &[u32]) -> Vec<f64> {
    let wide = |row: &[f32]| row.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let query = wide(&project(text[text.len() - 1]).query);
    let weight = |token: &u32| {
        let key = wide(&project(*token).key);
        let score: f64 = query.iter().zip(key).map(|(q, k)| q * k).sum();
        (score / (SIZE as f64).sqrt()).exp()
    };
    let weights: Vec<f64> = text.iter().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    let mut mean = vec![0.0; SIZE];
    for (token, weight) in text.iter().zip(weights) {
        let value = wide(&project(*token).value);
        mean.iter_mut().zip(value).for_each(|(mean, value)| *mean += weight / sum * value);
    }
    mean
}

#[test]
fn every_step_is_what_a_full_pass_gives() {
    let text: Vec<u32> = (0..40).map(|i| i * i % 23).collect();
    let mut head = Head::default();
    for end in 1..=text.len() {
        let found = head.step(text[end - 1], project);
        near(found, reference(&text[..end]), 1e-5, format!("token {end}"));
    }
}

#[test]
fn each_token_is_projected_once() {
    let (mut head, calls) = (Head::default(), Cell::new(0));
    for token in 0..100 {
        head.step(token, |token| {
            calls.set(calls.get() + 1);
            project(token)
        });
    }
    let calls = calls.get();
    assert_eq!(calls, 100, "100 tokens took {calls} projections");
}

#[test]
fn two_texts_do_not_mix() {
    let (mut one, mut two) = (Head::default(), Head::default());
    one.step(1, project);
    two.step(7, project);
    near(one.step(2, project), reference(&[1, 2]), 1e-5, "the first of two texts");
}

#[test]
fn large_scores_do_not_overflow() {
    let mut head = Head::default();
    let large = |token: u32| Projected {
        query: vec![100.0; SIZE],
        key: vec![10.0 * token as f32; SIZE],
        value: vec![token as f32; SIZE],
    };
    head.step(1, large);
    near(head.step(5, large), [5.0; SIZE], 1e-3, "large scores");
}
