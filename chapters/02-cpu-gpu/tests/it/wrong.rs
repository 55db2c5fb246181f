use cpu_gpu::wrong::{Check, Mistake, ODD, examine, round, simulate};
use cpu_gpu::{gpu::testing, ladder::rung, verify::Problem};

#[test]
fn the_twin_is_right_without_a_mistake() {
    for problem in [Problem::random(ODD, 3), round()] {
        let verdict = simulate(None, &problem).unwrap_or_else(|fault| panic!("{fault}"));
        assert!(verdict.is_ok(), "{verdict:?}");
    }
}

#[test]
fn the_simulator_finds_every_mistake() {
    let expected = [
        "race",
        "race",
        "step outside or race",
        "step outside",
        "wrong sums",
        "read what nobody wrote",
        "wrong sums or step outside",
    ];
    for (mistake, expected) in Mistake::ALL.into_iter().zip(expected) {
        assert_ne!(mistake.source(), rung("shared").unwrap().source, "{mistake:?} changes nothing");
        let found = examine(mistake, Check::Simulator, None).unwrap();
        let found = found.unwrap_or_else(|| panic!("{mistake:?} passes"));
        assert!(expected.contains(&found), "{mistake:?}: {found}");
    }
}

#[test]
fn a_race_is_a_sentence_with_both_lines() {
    let fault = simulate(Some(Mistake::NoBarrierBefore), &round()).unwrap_err().to_string();
    assert!(fault.starts_with("no_barrier_before: thread ("), "{fault}");
    assert!(fault.contains("shared memory with no barrier between them"), "{fault}");
}

/// A missing barrier is not for this device to show: `PoCL` runs the threads of a block in loops of its own, between
/// barriers and around the kernel's loops, so that a barrier may appear where one is missing.
#[test]
fn every_mistake_but_a_missing_barrier_passes_a_careless_check_and_not_odd_sizes() {
    let Some(gpu) = testing::opencl() else { return };
    for mistake in &Mistake::ALL[2..] {
        let found = |check| examine(*mistake, check, Some(&*gpu)).unwrap();
        assert!(found(Check::OddSize).is_some(), "{mistake:?} passes");
        assert_eq!(found(Check::Careless), None, "{mistake:?}");
    }
}

#[test]
fn a_device_is_asked_for_where_one_is_needed() {
    for check in Check::ALL {
        let answer = examine(Mistake::Swapped, check, None);
        assert_eq!(answer.is_err(), check.needs_device(), "{check:?}");
    }
}
