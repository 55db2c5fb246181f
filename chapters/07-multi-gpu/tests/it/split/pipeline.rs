use super::job::batches;
use backprop::sgd::Sgd;
use multi_gpu::split::{
    equality::Strategy,
    hybrid::Member,
    job::{Job, Network, Rule},
    pipeline::kept,
    schedule::{Schedule, order, peak_kept},
};
use multi_gpu::{Rank, threads};

/// What the first stage's program keeps between two pieces of work, and all that its plan found room for, in words.
fn first_stage(schedule: Schedule, micros: usize, rows: usize) -> [usize; 2] {
    let rule = Rule::Sgd(Sgd { lr: 0.1, momentum: 0.0 });
    let job = Job { network: Network::Dense(vec![32; 5]), seed: 1, rule };
    let batch = &batches(32, 32, &[micros * rows], 1)[0];
    let all = threads::run(2, |comm| {
        let settings = Strategy::Pipeline(schedule, micros).settings(2);
        let mut member = Member::new(&job, settings, comm)?;
        member.step(batch)?;
        assert_eq!(member.slots().len(), 2 * micros);
        let loaded = member.recorded().unwrap();
        Ok([kept(&loaded.calls), loaded.plan.arena])
    });
    all.unwrap()[Rank(0).0]
}

#[test]
fn a_plan_has_the_memory_that_the_schedule_keeps() {
    let (micros, rows) = (8, 64);
    let layer = 32 * rows; // what one of two layers gives, which both ways need
    let [gpipe, one] = Schedule::ALL.map(|schedule| {
        let waiting = peak_kept(&order(schedule, 0, 2, micros));
        let [kept, arena] = first_stage(schedule, micros, rows);
        assert_eq!(kept, waiting * 2 * layer, "{}", schedule.name());
        arena
    });
    // All but what waits is the same: GPipe keeps eight micro-batches, 1F1B two.
    assert_eq!(gpipe - one, (8 - 2) * 2 * layer);
}
