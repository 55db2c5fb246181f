//! The page's script plans a pipeline as the crate does. It runs on Node.js.

use lab::testing;
use multi_gpu::split::schedule::{Schedule, Slot, Work, bubble, idle, order, peak_kept, timeline};
use serde_json::{Value, json};

const SCRIPT: &str = "pipeline-player.js";

/// All pipelines that a reader can choose.
fn all() -> impl Iterator<Item = (Schedule, usize, usize)> {
    Schedule::ALL.into_iter().flat_map(|schedule| {
        (2..=6).flat_map(move |stages| (1..=8).map(move |micros| (schedule, stages, micros)))
    })
}

#[test]
fn the_page_plans_as_the_crate_does() {
    let program = "() => ['gpipe', '1f1b'].flatMap((schedule) => [2, 3, 4, 5, 6].flatMap((stages) => \
        [1, 2, 3, 4, 5, 6, 7, 8].map((micros) => { \
            const slots = page.plan(schedule, stages, micros); \
            return [slots, page.peaks(slots, stages), page.bubble(stages, micros)]; })))";
    let plan = |(schedule, stages, micros)| {
        let orders: Vec<Vec<Work>> =
            (0..stages).map(|stage| order(schedule, stage, stages, micros)).collect();
        let slots = timeline(&orders, &vec![(1.0, 2.0); stages]).unwrap();
        let peaks: Vec<usize> = orders.iter().map(|order| peak_kept(order)).collect();
        let share = bubble(stages, micros);
        let what = format!("{} {stages} {micros}", schedule.name());
        assert!(idle(&slots, stages).iter().all(|idle| (idle - share).abs() < 1e-12), "{what}");
        let slot =
            |s: &Slot| json!({ "stage": s.stage, "work": s.work, "start": s.start, "end": s.end });
        json!([slots.iter().map(slot).collect::<Vec<_>>(), peaks, share])
    };
    let wanted: Vec<Value> = all().map(plan).collect();
    testing::agrees(SCRIPT, program, &(), &wanted, |found, wanted| (found - wanted).abs() < 1e-12);
}

#[test]
fn the_picture_without_javascript_is_one_of_the_scripts_own() {
    let function = "() => page.picture('1f1b', 4, 4)";
    testing::is_drawn("07-multi-gpu/pipeline.svg", SCRIPT, function);
}
