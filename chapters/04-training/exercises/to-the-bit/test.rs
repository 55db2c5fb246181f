//! The test of the exercise `to-the-bit`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::Run;

fn bits(run: &Run) -> Vec<u32> {
    run.parameters.iter().map(|x| x.to_bits()).collect()
}

fn train(run: &mut Run, steps: usize) {
    (0..steps).for_each(|_| run.step());
}

/// Stops the run and resumes it.
#[track_caller]
fn resumed(run: &Run) -> Run {
    Run::resume(&run.save()).expect("a checkpoint that was just written")
}

#[test]
fn what_is_resumed_is_what_was_stopped() {
    let mut run = Run::new(6, 1);
    train(&mut run, 7);
    assert_eq!(bits(&resumed(&run)), bits(&run));
}

#[test]
fn a_run_ends_in_the_same_bits_wherever_it_was_stopped() {
    let mut whole = Run::new(6, 2);
    train(&mut whole, 40);
    for stop in 0..40 {
        let mut run = Run::new(6, 2);
        train(&mut run, stop);
        let mut run = resumed(&run);
        train(&mut run, 40 - stop);
        assert_eq!(bits(&run), bits(&whole), "stopped after {stop} steps");
    }
}

#[test]
fn it_can_be_stopped_again_and_again() {
    let mut whole = Run::new(5, 3);
    train(&mut whole, 30);
    let mut run = Run::new(5, 3);
    for _ in 0..30 {
        run = resumed(&run);
        run.step();
    }
    assert_eq!(bits(&run), bits(&whole));
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let mut run = Run::new(6, 4);
    train(&mut run, 3);
    let good = run.save();
    for at in 0..good.len() {
        for change in [0x01, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= change;
            assert!(Run::resume(&bad).is_none(), "byte {at} of {} was changed", good.len());
        }
        assert!(Run::resume(&good[..at]).is_none(), "cut off after {at} of {} bytes", good.len());
    }
    assert!(Run::resume(&[&good[..], &[0; 4]].concat()).is_none(), "four bytes too many");
}
