//! The test of the exercise `to-the-bit`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Run;
use lab::check::same_bits;

/// A run after so many steps.
fn trained(mut run: Run, steps: usize) -> Run {
    (0..steps).for_each(|_| run.step());
    run
}

/// Stops the run and resumes it.
#[track_caller]
fn resumed(run: &Run) -> Run {
    Run::resume(&run.save()).expect("a checkpoint that was just written")
}

#[test]
fn what_is_resumed_is_what_was_stopped() {
    let run = trained(Run::new(6, 1), 7);
    same_bits(resumed(&run).parameters, &run.parameters, "parameters after 7 steps");
}

#[test]
fn a_run_ends_in_the_same_bits_wherever_it_was_stopped() {
    let whole = trained(Run::new(6, 2), 40);
    for stop in 0..40 {
        let run = trained(resumed(&trained(Run::new(6, 2), stop)), 40 - stop);
        same_bits(run.parameters, &whole.parameters, format!("stopped after {stop} steps"));
    }
}

#[test]
fn it_can_be_stopped_again_and_again() {
    let whole = trained(Run::new(5, 3), 30);
    let run = (0..30).fold(Run::new(5, 3), |run, _| trained(resumed(&run), 1));
    same_bits(run.parameters, whole.parameters, "stopped after each step");
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let good = trained(Run::new(6, 4), 3).save();
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
