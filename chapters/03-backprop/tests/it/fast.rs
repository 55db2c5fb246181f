use crate::train::{after, digits};
use backprop::fast::{Barrier, Fast, Guard, Ways, cut, worthwhile};
use backprop::flat::{Flat, Habits};
use backprop::train::{Learner, Settings};
use backprop::{Error, adam, check, order::order};
use matmul::Threads;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

#[test]
fn equals_the_plain_network_bit_for_bit_on_any_number_of_threads() {
    let (data, _) = digits(150, 1);
    let shapes = [
        (vec![784, 128, 10], 32),
        (vec![784, 37, 10], 7),
        (vec![784, 3, 10], 1),
        (vec![784, 70, 10], 64),
    ];
    for (sizes, batch) in shapes {
        let settings = Settings { sizes, batch, seed: 3, ..Settings::default() };
        let habits = Habits { fused_adam: true, keep_buffers: true, threads: Threads::One };
        let wanted = after(&mut Flat::new(settings.clone(), habits).unwrap(), &data, 2);
        assert!(wanted.1 > 0.0);
        for threads in [0, 1, 2, 3, 5] {
            for update_in_cache in [false, true] {
                let ways = Ways { threads, update_in_cache };
                let mut fast = Fast::new(settings.clone(), ways).unwrap();
                let found = after(&mut fast, &data, 2);
                assert_eq!(
                    found,
                    wanted,
                    "{settings:?} {ways:?}: {}",
                    check::error_f32(&found.0, &wanted.0)
                );
            }
        }
    }
}

#[test]
fn columns_are_dealt_out_once() {
    for (hidden, threads) in [(128, 2), (128, 3), (37, 4), (1, 8), (1000, 16), (16, 2)] {
        let parts = cut(hidden, threads);
        assert!(parts.len() <= threads && parts.iter().all(|part| !part.is_empty()));
        let all: Vec<usize> = parts.into_iter().flatten().collect();
        assert_eq!(all, (0..hidden).collect::<Vec<_>>());
    }
    assert_eq!(cut(128, 2), [0..64, 64..128]);
    assert!(worthwhile(128) <= 4 && worthwhile(1) == 1);
}

#[test]
fn threads_meet_at_the_barrier_and_leave_it_when_one_is_gone() {
    let barrier = Barrier::new(3);
    let counter = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 1..=1000 {
                    counter.fetch_add(1, Ordering::Relaxed);
                    assert!(barrier.wait());
                    assert!(counter.load(Ordering::Relaxed) >= 3 * round);
                    assert!(barrier.wait());
                }
            });
        }
    });
    thread::scope(|scope| {
        scope.spawn(|| assert!(!barrier.wait()));
        scope.spawn(|| drop(Guard { barrier: &barrier, done: false }));
    });
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let (data, _) = digits(40, 1);
    let rule = adam::Adam { lr: 1e30, ..adam::Adam::default() };
    let wild = Settings { rule, batch: 8, ..Settings::default() };
    let ways = Ways { threads: 3, ..Ways::default() };
    let mut fast = Fast::new(wild, ways).unwrap();
    let error = fast.epoch(&data, &order(0, 1, 40), 1).unwrap_err();
    assert!(matches!(error, Error::Diverged { epoch: 1, step: 2.., .. }), "{error}");
    let deep = Settings { sizes: vec![784, 20, 20, 10], ..Settings::default() };
    assert!(Fast::new(deep, ways).is_err());
    let mut fast = Fast::new(Settings::default(), ways).unwrap();
    assert!(fast.epoch(&data, &[40], 1).is_err());
}
