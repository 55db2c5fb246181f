//! The test of the exercise `schedule-1f1b`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::order;
use multi_gpu::split::schedule::{Direction, Work, bubble, idle, peak_kept, timeline};

const SHAPES: [(usize, usize); 7] = [(1, 1), (2, 4), (3, 8), (4, 4), (4, 16), (5, 3), (6, 1)];

fn orders(stages: usize, micros: usize) -> Vec<Vec<Work>> {
    (0..stages).map(|stage| order(stage, stages, micros)).collect()
}

#[test]
fn every_micro_batch_goes_there_and_back_once() {
    for (stages, micros) in SHAPES {
        for (stage, order) in orders(stages, micros).iter().enumerate() {
            for direction in [Direction::Forward, Direction::Backward] {
                let mine = order.iter().filter(|work| work.direction == direction);
                let numbers: Vec<usize> = mine.map(|work| work.micro).collect();
                assert_eq!(numbers, (0..micros).collect::<Vec<_>>(), "stage {stage} of {stages}");
            }
        }
    }
}

#[test]
fn no_stage_waits_longer_than_the_bubble() {
    for (stages, micros) in SHAPES {
        let slots = timeline(&orders(stages, micros), &vec![(1.0, 2.0); stages]).unwrap();
        for share in idle(&slots, stages) {
            let most = bubble(stages, micros);
            assert!(share < most + 1e-9, "{stages} stages, {micros}: waits {share}, not {most}");
        }
    }
}

#[test]
fn a_stage_keeps_no_more_than_the_stages_after_it_need() {
    for (stages, micros) in SHAPES {
        for (stage, order) in orders(stages, micros).iter().enumerate() {
            let (peak, enough) = (peak_kept(order), micros.min(stages - stage));
            assert!(peak <= enough, "stage {stage} of {stages} keeps {peak}, {enough} are enough");
        }
    }
}
