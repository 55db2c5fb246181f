//! The test of the exercise `same-bits`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::sum;
use lab::check::{close, numbers, pairs, same_bits};
use std::{collections::HashSet, sync::Mutex, thread};

const THREADS: [usize; 8] = [2, 3, 4, 5, 7, 8, 16, 61];

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (len, f) in pairs([1, 1000, 4097, 100_000, 123_457], [|x: f32| x, |x: f32| x * x]) {
        let values = numbers(len, 7);
        let one = sum(&values, 1, f);
        for threads in THREADS {
            same_bits(sum(&values, threads, f), one, format!("{len} values, {threads} threads"));
        }
    }
}

#[test]
fn a_longer_format_is_no_way_out() {
    // f64 loses what is added to 1e30 as well, so what is left depends on where the values are cut.
    let value = |at: usize| [1e30, -1e30, at as f32][at % 3];
    let values: Vec<f32> = (0..99_999).map(value).collect();
    let one = sum(&values, 1, |x| x);
    for threads in THREADS {
        same_bits(sum(&values, threads, |x| x), one, format!("a long format, {threads} threads"));
    }
}

#[test]
fn it_is_the_sum() {
    for len in [1, 2, 1023, 1024, 1025, 50_000] {
        let values = numbers(len, 8);
        let exact: f64 = values.iter().map(|x| f64::from(*x).powi(2)).sum();
        close(sum(&values, 3, |x| x * x), exact, 1e-5, format!("{len} values"));
    }
    assert!(sum(&[], 4, |x| x).abs() < f32::MIN_POSITIVE, "the sum of nothing");
}

/// How many threads call `f`.
fn at_work(threads: usize) -> usize {
    let seen = Mutex::new(HashSet::new());
    sum(&numbers(100_000, 9), threads, |x| {
        seen.lock().expect("nothing panics here").insert(thread::current().id());
        x
    });
    seen.lock().expect("nothing panics here").len()
}

#[test]
fn the_threads_share_the_work() {
    for threads in [1, 2, 3, 8] {
        let used = at_work(threads);
        assert!(used <= threads, "{used} threads where {threads} were allowed");
        assert!(2 * used > threads, "{used} of {threads} threads took part");
    }
}
