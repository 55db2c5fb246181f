use multi_gpu::Rank;
use multi_gpu::replicas::watch::{STEPS, Watch, slowest};

#[test]
fn a_rank_is_slow_by_the_median_of_the_others() {
    let slow = slowest(&[0.010, 0.011, 0.034, 0.012]).unwrap();
    assert_eq!(slow.rank, Rank(2));
    let words = slow.to_string();
    assert!(
        words.starts_with("rank 2 takes 3.1 times the median of the others (34.0 ms"),
        "{words}"
    );
    assert_eq!(slowest(&[0.010, 0.011, 0.019, 0.012]), None);
    // Of two, the other one is the median; one alone is never slow.
    assert_eq!(slowest(&[0.5, 0.1]).unwrap().rank, Rank(0));
    assert_eq!(slowest(&[0.5]), None);
    assert_eq!(slowest(&[]), None);
}

#[test]
fn one_slow_step_says_nothing_and_a_slow_rank_is_named_once() {
    let mut watch = Watch::new(3);
    let mut said = Vec::new();
    for step in 0..6 * STEPS {
        let hiccup = if step == 3 { 0.015 } else { 0.001 };
        // Rank 1 is slow in the third to the fifth stretch.
        let slow = if (2..5).contains(&(step / STEPS)) { 0.005 } else { 0.001 };
        said.extend(watch.step(&[hiccup, slow, 0.001]).map(|slow| (step, slow.rank)));
    }
    assert_eq!(said, [(3 * STEPS - 1, Rank(1))]);
}
