//! The page's script plans a pipeline as the crate does. It runs on Node.js.

use lab::testing;
use multi_gpu::split::schedule::{Schedule, Work, bubble, idle, order, peak_kept, timeline};
use serde_json::{Value, json};

/// What a function returns, with the page's script as `page`; `None` where there is no Node.js.
fn node(function: &str) -> Option<Value> {
    testing::node("pipeline-player.js", function, &Value::Null)
}

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
    let Some(found) = node(program) else { return };
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), all().count());
    for ((schedule, stages, micros), found) in all().zip(found) {
        let orders: Vec<Vec<Work>> =
            (0..stages).map(|stage| order(schedule, stage, stages, micros)).collect();
        let slots = timeline(&orders, &vec![(1.0, 2.0); stages]).unwrap();
        let peaks: Vec<usize> = orders.iter().map(|order| peak_kept(order)).collect();
        let what = format!("{} {stages} {micros}", schedule.name());
        let page: Vec<(usize, Value, f64, f64)> = found[0]
            .as_array()
            .unwrap()
            .iter()
            .map(|slot| {
                let number = |name: &str| slot[name].as_f64().unwrap();
                (number("stage") as usize, slot["work"].clone(), number("start"), number("end"))
            })
            .collect();
        let crates: Vec<_> =
            slots.iter().map(|s| (s.stage, json!(s.work), s.start, s.end)).collect();
        assert_eq!(page, crates, "{what}");
        assert_eq!(found[1], json!(peaks), "{what}");
        let share = found[2].as_f64().unwrap();
        assert!((share - bubble(stages, micros)).abs() < 1e-12, "{what}");
        assert!(idle(&slots, stages).iter().all(|idle| (idle - share).abs() < 1e-12), "{what}");
    }
}

#[test]
fn the_picture_without_javascript_is_one_of_the_scripts_own() {
    let function = "() => page.picture('1f1b', 4, 4)";
    testing::is_drawn("07-multi-gpu/pipeline.svg", "pipeline-player.js", function);
}
