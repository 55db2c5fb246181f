//! The page's ring goes round as the crate's does. The page's script runs on Node.js.

use lab::testing;
use multi_gpu::{Rank, comm::ring, threads};
use serde_json::Value;

const SCRIPT: &str = "ring-all-reduce.js";

#[test]
fn the_page_sends_the_parts_that_the_crate_sends() {
    let program = "() => [2, 3, 4, 5, 8].map((p) => Array.from({ length: 2 * p - 2 }, (_, s) => \
        Array.from({ length: p }, (_, me) => page.stepParts(me, s + 1, p))))";
    let wanted = [2, 3, 4, 5, 8].map(|p| {
        let step = |s| (0..p).map(|me| ring::step_parts(Rank(me), s, p)).collect::<Vec<_>>();
        (1..=2 * p - 2).map(step).collect::<Vec<_>>()
    });
    testing::agrees(SCRIPT, program, &(), &wanted, testing::relative(0.0));
}

#[test]
fn the_pages_ranks_hold_what_the_crates_hold_after_each_half() {
    const P: usize = 4;
    let Some(found) = testing::node(SCRIPT, "() => page.frames(4)", &Value::Null) else { return };
    let found: Vec<Vec<Vec<Vec<u32>>>> = serde_json::from_value(found).unwrap();
    assert_eq!(found.len(), 2 * P - 1);
    // Rank r adds 16^r: the digits of a sum are the ranks in it.
    let held = |frame: &Vec<Vec<Vec<u32>>>| -> Vec<Vec<f32>> {
        let sum = |ranks: &Vec<u32>| ranks.iter().map(|r| 16_f32.powi(*r as i32)).sum();
        frame.iter().map(|parts| parts.iter().map(sum).collect()).collect()
    };
    let run = |work: fn(&mut threads::Threads, &mut [f32]) -> multi_gpu::Result<()>| {
        threads::run(P, |mut comm| {
            let mut data = vec![16_f32.powi(comm.rank().0 as i32); P];
            work(&mut comm, &mut data)?;
            Ok(data)
        })
        .unwrap()
    };
    assert_eq!(held(&found[P - 1]), run(ring::reduce_scatter));
    assert_eq!(held(&found[2 * P - 2]), run(ring::all_reduce));
}
