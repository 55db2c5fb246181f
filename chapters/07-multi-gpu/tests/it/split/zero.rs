use super::job::batches;
use backprop::adam::Adam;
use multi_gpu::split::job::{Job, Rule};
use multi_gpu::split::zero::{Level, Sharded, predicted};
use multi_gpu::{PointToPoint, Rank, comm::counting::Counting, threads};
use proptest::prelude::*;

fn job(sizes: &[usize]) -> Job {
    Job { sizes: sizes.to_vec(), seed: 2, rule: Rule::Adam(Adam::default()) }
}

proptest! {
    #[test]
    fn what_is_held_is_what_the_paper_says(
        sizes in proptest::collection::vec(1_usize..12, 2..5), ranks in 1_usize..9, even: bool,
    ) {
        // Layers that the ranks divide; else a rank holds a number a layer more or less at most.
        let sizes: Vec<_> = sizes.iter().map(|n| n * if even { ranks } else { 1 }).collect();
        let parameters = sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
        let most = if even { 0.0 } else { 16.0 * (sizes.len() - 1) as f64 };
        for (level, rank) in Level::ALL.into_iter().flat_map(|l| (0..ranks).map(move |r| (l, Rank(r)))) {
            let held = Sharded::new(&job(&sizes), level, rank, ranks).unwrap().memory().total();
            let off = held as f64 - predicted(level, parameters, ranks);
            prop_assert!(off.abs() <= most, "{:?} {}: {}", level, ranks, off);
        }
    }
}

#[test]
fn stage_3_sends_what_a_gradient_more_would_take() {
    // p divides every layer, so each ring sends exactly 4 Ψ (p - 1) / p bytes.
    let (job, ranks) = (job(&[31, 32, 8]), 4);
    let sent = |level| {
        let sent = threads::run(ranks, |comm| {
            let mut wire = Counting::new(comm);
            let mut rank = Sharded::new(&job, level, wire.rank(), ranks)?;
            let before = wire.traffic().bytes_sent;
            rank.step(&batches(31, 8, &[8], 1)[0], &mut wire)?;
            Ok(wire.traffic().bytes_sent - before)
        });
        let loss = 4; // bytes: one number's ring sends each part of it once or not at all
        sent.unwrap().into_iter().map(|bytes| bytes as f64 - f64::from(loss)).fold(0.0, f64::max)
    };
    let pass = |parameters: f64| 4.0 * parameters * 3.0 / 4.0;
    let (all, second) = (1024.0 + 264.0, 264.0);
    for level in [Level::Nothing, Level::Optimizer, Level::Gradients] {
        assert!((sent(level) - 2.0 * pass(all)).abs() <= 8.0, "{level:?}: {}", sent(level));
    }
    // Forward all layers, backward all but the first, and the gradients.
    let wanted = pass(all) + pass(second) + pass(all);
    assert!((sent(Level::Parameters) - wanted).abs() <= 8.0);
}
