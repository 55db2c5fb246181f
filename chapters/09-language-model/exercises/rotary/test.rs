//! The test of the exercise `rotary`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{BASE, turn};
use lab::check::{close, near, numbers, pairs};

fn turned(head: &[f32], position: usize) -> Vec<f32> {
    let mut head = head.to_vec();
    turn(&mut head, position);
    head
}

fn product(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[test]
fn position_0_turns_nothing() {
    for n in [2, 8, 32] {
        let head = numbers(n, 1);
        assert_eq!(turned(&head, 0), head, "a head of {n} values");
    }
}

#[test]
fn each_pair_turns_by_its_own_angle() {
    let n = 8;
    for (position, i) in pairs([1, 2, 5, 100, 10_000], 0..n / 2) {
        // A unit vector along x in pair i.
        let mut head = vec![0.0; n];
        head[i] = 1.0;
        let angle = position as f64 * BASE.powf(-2.0 * i as f64 / n as f64);
        let mut wanted = vec![0.0; n];
        (wanted[i], wanted[i + n / 2]) = (angle.cos(), angle.sin());
        near(turned(&head, position), wanted, 1e-6, format!("pair {i} at {position}"));
    }
}

#[test]
fn a_product_depends_on_the_distance_alone() {
    for n in [2, 6, 32] {
        let (query, key) = (numbers(n, 2), numbers(n, 3));
        let at = |q: usize, k: usize| product(&turned(&query, q), &turned(&key, k));
        for ((q, k), moved) in pairs([(0, 0), (3, 0), (0, 3), (7, 2), (250, 1)], [1, 10, 1000]) {
            let what = format!("{n} values: the product of {q} and {k}, {moved} places further");
            near(at(q + moved, k + moved), at(q, k), 1e-4, what);
        }
        let apart = (at(1, 0) - at(4, 0)).abs();
        assert!(apart > 1e-3, "{n} values: another distance, the same product");
    }
}

#[test]
fn a_turn_keeps_the_length() {
    for n in [2, 6, 32] {
        let head = numbers(n, 4);
        let turned = turned(&head, 321);
        close(product(&turned, &turned), product(&head, &head), 1e-4, "the length after, before");
    }
}
