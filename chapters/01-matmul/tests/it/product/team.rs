use matmul::product::team::{AWAKE, run};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn each_part_is_done_once() {
    for parts in [0, 1, 2, 3, 8, 50] {
        for round in 0..200 {
            let done: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            run(parts, &|part| {
                done[part].fetch_add(1, SeqCst);
            });
            assert!(
                done.iter().all(|times| times.load(SeqCst) == 1),
                "{parts} parts, round {round}"
            );
        }
    }
}

#[test]
fn threads_that_sleep_are_woken() {
    for _ in 0..5 {
        let done = AtomicUsize::new(0);
        run(3, &|_| {
            done.fetch_add(1, SeqCst);
        });
        assert_eq!(done.load(SeqCst), 3);
        std::thread::sleep(AWAKE * 20);
    }
}

#[test]
fn a_task_within_a_task_is_done_by_its_thread() {
    let done = AtomicUsize::new(0);
    run(4, &|_| {
        run(5, &|_| {
            done.fetch_add(1, SeqCst);
        });
    });
    assert_eq!(done.load(SeqCst), 20);
}

#[test]
fn a_panic_reaches_the_caller_and_the_team_goes_on() {
    let panicked = std::panic::catch_unwind(|| run(4, &|part| assert_ne!(part, 2, "part two")));
    assert!(panicked.is_err());
    let done = AtomicUsize::new(0);
    run(4, &|_| {
        done.fetch_add(1, SeqCst);
    });
    assert_eq!(done.load(SeqCst), 4);
}
