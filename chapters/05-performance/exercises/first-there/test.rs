//! The test of the exercise `first-there`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Epoch, reached, typical};
use lab::check::all;

/// A run with an epoch every ten seconds.
fn run(accuracies: &[f64]) -> Vec<Epoch> {
    accuracies.iter().enumerate().map(|(at, &a)| (10.0 * (at + 1) as f64, a)).collect()
}

#[test]
fn by_hand() {
    let (long, never) = (run(&[0.9, 0.96, 0.98, 0.975, 0.985]), run(&[0.5, 0.9]));
    let [fast, late, later] = [&[0.98][..], &[0.5, 0.98], &[0.5, 0.6, 0.7, 0.98]].map(run);
    let all_arrive = [fast.clone(), late.clone(), later];
    let fail = [late, never.clone(), fast, never];
    all([
        ("the first epoch counts", reached(&long, 0.98), Some(30.0)),
        ("the first epoch counts", reached(&long, 0.95), Some(20.0)),
        ("the first epoch counts", reached(&long, 0.9), Some(10.0)),
        ("no epoch gets there", reached(&long, 0.99), None),
        ("no epoch", reached(&[], 0.5), None),
        ("the median of runs that all get there", typical(&all_arrive, 0.98), Some(20.0)),
        ("between two", typical(&all_arrive[1..], 0.98), Some(30.0)),
        ("one run", typical(&all_arrive[..1], 0.98), Some(10.0)),
        ("a run that fails is slow and not missing", typical(&fail[..3], 0.98), Some(20.0)),
        ("two of three fail", typical(&fail[1..], 0.98), None),
        ("one of two", typical(&fail[1..3], 0.98), None),
        ("no run", typical(&[], 0.98), None),
    ]);
}

#[test]
fn luck_does_not_win() {
    // Four seeds of five diverge, and the fifth is fast; the other setting always gets there.
    let mut wild = vec![run(&[0.1; 8]); 4];
    wild.push(run(&[0.98]));
    let calm = vec![run(&[0.9, 0.95, 0.98]); 5];
    assert_eq!((typical(&wild, 0.98), typical(&calm, 0.98)), (None, Some(30.0)));
}
