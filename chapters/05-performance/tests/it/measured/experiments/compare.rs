use backprop::measured::peers::Answer;
use lab::{Error, Samples};
use performance::measured::experiments::compare::{of_all, seconds};

#[test]
fn the_clock_stops_at_the_first_epoch_that_is_good_enough() {
    let epochs = Answer::of([(1.0, 0.9), (2.0, 0.98), (4.0, 0.97), (8.0, 0.99)].into_iter());
    assert_eq!(seconds(&epochs, 0.97), Some(3.0));
    assert_eq!(seconds(&epochs, 0.99), Some(15.0));
    assert_eq!(seconds(&epochs, 0.995), None);
    assert_eq!(seconds(&Answer::of(std::iter::empty()), 0.5), None);
}

#[test]
fn what_some_seeds_did_not_come_to_is_left_out() {
    let half = |x: &f64| (*x > 0.5).then_some(*x);
    assert_eq!(of_all(&[0.75, 1.0], half, "1 in all").unwrap(), Samples(vec![0.75, 1.0]));
    let Err(Error::Skipped { why, .. }) = of_all(&[0.25, 1.0], half, "half") else {
        panic!("one did not")
    };
    assert_eq!(why, "1 of 2 seeds reached half");
}
