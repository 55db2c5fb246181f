use multi_gpu::split::schedule::{
    Direction, Schedule, Work, bubble, idle, order, peak_kept, timeline,
};
use proptest::prelude::*;

fn orders(schedule: Schedule, stages: usize, micros: usize) -> Vec<Vec<Work>> {
    (0..stages).map(|stage| order(schedule, stage, stages, micros)).collect()
}

proptest! {
    #[test]
    fn every_stage_does_everything_once_and_nothing_too_early(
        stages in 1_usize..7, micros in 0_usize..12, times in proptest::collection::vec((0.1..3.0, 0.1..3.0), 7)
    ) {
        for schedule in Schedule::ALL {
            let orders = orders(schedule, stages, micros);
            let slots = timeline(&orders, &times).unwrap();
            prop_assert_eq!(slots.len(), 2 * stages * micros);
            let at = |stage, direction, micro| {
                let mut found = slots.iter().filter(|s| (s.stage, s.work) == (stage, Work { direction, micro }));
                let slot = *found.next().unwrap();
                assert!(found.next().is_none());
                slot
            };
            for micro in 0..micros {
                for stage in 1..stages {
                    prop_assert!(at(stage - 1, Direction::Forward, micro).end <= at(stage, Direction::Forward, micro).start);
                    prop_assert!(at(stage, Direction::Backward, micro).end <= at(stage - 1, Direction::Backward, micro).start);
                }
                prop_assert!(at(stages - 1, Direction::Forward, micro).end <= at(stages - 1, Direction::Backward, micro).start);
            }
            for stage in 0..stages {
                let mut mine: Vec<_> = slots.iter().filter(|slot| slot.stage == stage).collect();
                mine.sort_by(|a, b| a.start.total_cmp(&b.start));
                prop_assert!(mine.windows(2).all(|two| two[0].end <= two[1].start), "two things at once");
            }
        }
    }

    #[test]
    fn equal_stages_are_idle_for_the_predicted_share(stages in 1_usize..7, micros in 1_usize..17) {
        for schedule in Schedule::ALL {
            let slots = timeline(&orders(schedule, stages, micros), &vec![(1.0, 2.0); stages]).unwrap();
            for share in idle(&slots, stages) {
                prop_assert!((share - bubble(stages, micros)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn what_is_kept_grows_with_the_batch_in_gpipe_alone(stages in 1_usize..7, micros in 1_usize..17) {
        for stage in 0..stages {
            let peak = |schedule| peak_kept(&order(schedule, stage, stages, micros));
            prop_assert_eq!(peak(Schedule::Gpipe), micros);
            prop_assert_eq!(peak(Schedule::OneForwardOneBackward), micros.min(stages - stage));
        }
    }
}

#[test]
fn a_schedule_that_waits_for_itself_is_found() {
    let mut orders = orders(Schedule::Gpipe, 2, 1);
    orders[1].reverse();
    assert!(timeline(&orders, &[(1.0, 1.0); 2]).unwrap_err().to_string().contains("never ends"));
}

#[test]
fn the_slowest_stage_sets_the_pace() {
    let slots =
        timeline(&orders(Schedule::OneForwardOneBackward, 2, 50), &[(1.0, 1.0), (3.0, 3.0)]);
    let idle = idle(&slots.unwrap(), 2);
    assert!((0.6..0.7).contains(&idle[0]) && idle[1] < 0.02, "{idle:?}");
}
