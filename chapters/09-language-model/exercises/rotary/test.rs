//! The test of the exercise `rotary`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{BASE, turn};
use lab::random::numbers;

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
    for position in [1, 2, 5, 100, 10_000] {
        for i in 0..n / 2 {
            // A unit vector along x in pair i.
            let mut head = vec![0.0; n];
            head[i] = 1.0;
            let angle = position as f64 * BASE.powf(-2.0 * i as f64 / n as f64);
            let mut wanted = vec![0.0; n];
            (wanted[i], wanted[i + n / 2]) = (angle.cos(), angle.sin());
            for (at, (found, wanted)) in turned(&head, position).iter().zip(wanted).enumerate() {
                let off = (f64::from(*found) - wanted).abs();
                assert!(off < 1e-6, "pair {i} at {position}: value {at} is {found}, not {wanted}");
            }
        }
    }
}

#[test]
fn a_product_depends_on_the_distance_alone() {
    for n in [2, 6, 32] {
        let (query, key) = (numbers(n, 2), numbers(n, 3));
        for (q, k) in [(0, 0), (3, 0), (0, 3), (7, 2), (250, 1)] {
            let near = product(&turned(&query, q), &turned(&key, k));
            for moved in [1, 10, 1000] {
                let far = product(&turned(&query, q + moved), &turned(&key, k + moved));
                assert!(
                    (near - far).abs() < 1e-4,
                    "{n} values: the product of {q} and {k} is {near}, {moved} places further {far}"
                );
            }
        }
        let other = product(&turned(&query, 4), &turned(&key, 0));
        let near = product(&turned(&query, 1), &turned(&key, 0));
        assert!((near - other).abs() > 1e-3, "{n} values: another distance, the same product");
    }
}

#[test]
fn a_turn_keeps_the_length() {
    for n in [2, 6, 32] {
        let head = numbers(n, 4);
        let (before, turned) = (product(&head, &head), turned(&head, 321));
        let after = product(&turned, &turned);
        assert!((before - after).abs() < 1e-4 * before, "{before} before, {after} after");
    }
}
