use super::job::batches;
use backprop::adam::Adam;
use multi_gpu::split::{
    equality::Strategy,
    hybrid::Member,
    job::{Job, Network, Rule},
    zero::{Level, predicted},
};
use multi_gpu::{comm::counting::Counting, threads};
use proptest::prelude::*;

fn job(sizes: &[usize]) -> Job {
    let network = Network::Dense(sizes.to_vec());
    Job { network, seed: 2, rule: Rule::Adam(Adam::default()) }
}

/// What each rank keeps and sends in a step, in bytes.
fn counted(job: &Job, level: Level, ranks: usize, [inputs, classes]: [usize; 2]) -> Vec<[f64; 2]> {
    threads::run(ranks, |comm| {
        let settings = Strategy::Zero(level).settings(ranks);
        let mut member = Member::new(job, settings, Counting::new(comm))?;
        member.step(&batches(inputs, classes, &[8], 1)[0])?;
        let sent = member.comm().traffic().bytes_sent;
        Ok([member.memory().total() as f64, sent as f64])
    })
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn what_is_held_is_what_the_paper_says(
        sizes in proptest::collection::vec(1_usize..90, 2..5), ranks in 1_usize..7,
    ) {
        let job = job(&sizes);
        let parameters = job.model().unwrap().params.learned();
        // Tensors begin at multiples of 64 numbers, a whole buffer is a multiple of 1024, and a part may be a number longer.
        let most = 16.0 * (64 * 2 * sizes.len() + 1024) as f64;
        for level in Level::ALL {
            for [held, _] in counted(&job, level, ranks, [sizes[0], sizes[sizes.len() - 1]]) {
                let off = held - predicted(level, parameters, ranks);
                prop_assert!((-16.0 * sizes.len() as f64..=most).contains(&off), "{:?} {}: {}", level, ranks, off);
            }
        }
    }
}

#[test]
fn stage_3_sends_what_a_gradient_more_would_take() {
    // p divides every layer, so each ring sends exactly 4 Ψ (p - 1) / p bytes.
    let (job, ranks) = (job(&[32, 64, 64, 64, 64]), 4);
    let layer = 64.0 * 64.0 + 64.0;
    let all = 32.0 * 64.0 + 64.0 + 3.0 * layer;
    let pass = |parameters: f64| 4.0 * parameters * 3.0 / 4.0;
    let most =
        |level| counted(&job, level, ranks, [32, 64]).into_iter().map(|c| c[1]).fold(0.0, f64::max);
    let loss = 8.0; // bytes: a ring sends each of its two numbers at most twice
    for level in [Level::Optimizer, Level::Gradients] {
        let off = most(level) - 2.0 * pass(all);
        assert!((0.0..=2.0 * loss).contains(&off), "{level:?}: {off}");
    }
    // Forward all layers; backward all but the first, which needs none, and the last, which is still there.
    let off = most(Level::Parameters) - (pass(all) + pass(2.0 * layer) + pass(all));
    assert!((0.0..=2.0 * loss).contains(&off), "{off}");
}
