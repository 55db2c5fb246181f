//! The test of the exercise `same-bits`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::sum;
use lab::random::numbers;
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    thread::{self, ThreadId},
};

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for len in [1, 1000, 4097, 100_000, 123_457] {
        for f in [|x: f32| x, |x: f32| x * x] {
            let values = numbers(len, 7);
            let one = sum(&values, 1, f);
            for threads in [2, 3, 4, 5, 7, 8, 16, 61] {
                let found = sum(&values, threads, f);
                assert_eq!(
                    found.to_bits(),
                    one.to_bits(),
                    "{len} values: {found} by {threads} threads, {one} by one"
                );
            }
        }
    }
}

#[test]
fn a_longer_format_is_no_way_out() {
    // f64 loses what is added to 1e30 as well, so what is left depends on where the values are cut.
    let value = |at: usize| [1e30, -1e30, at as f32][at % 3];
    let values: Vec<f32> = (0..99_999).map(value).collect();
    let one = sum(&values, 1, |x| x);
    for threads in [2, 3, 4, 5, 7, 8, 16, 61] {
        let found = sum(&values, threads, |x| x);
        assert_eq!(found.to_bits(), one.to_bits(), "{found} by {threads} threads, {one} by one");
    }
}

#[test]
fn it_is_the_sum() {
    for len in [1, 2, 1023, 1024, 1025, 50_000] {
        let values = numbers(len, 8);
        let exact: f64 = values.iter().map(|x| f64::from(*x).powi(2)).sum();
        let found = f64::from(sum(&values, 3, |x| x * x));
        assert!((found / exact - 1.0).abs() < 1e-5, "{len} values: {found}, and not {exact}");
    }
    assert!(sum(&[], 4, |x| x).abs() < f32::MIN_POSITIVE, "the sum of nothing");
}

/// The threads that call `f`.
fn at_work(threads: usize) -> HashSet<ThreadId> {
    let seen = Mutex::new(HashSet::new());
    sum(&numbers(100_000, 9), threads, |x| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).insert(thread::current().id());
        x
    });
    seen.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn the_threads_share_the_work() {
    for threads in [1, 2, 3, 8] {
        let used = at_work(threads).len();
        assert!(used <= threads, "{used} threads where {threads} were allowed");
        assert!(2 * used > threads, "{used} of {threads} threads took part");
    }
}
