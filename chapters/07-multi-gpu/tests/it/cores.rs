use multi_gpu::{Rank, cores::keep_to_core};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::thread;

#[test]
fn a_rank_keeps_to_one_core_and_ranks_take_turns() {
    let core = |rank: usize| {
        let bound = thread::spawn(move || {
            assert!(keep_to_core(Rank(rank)));
            let set = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect::<Vec<_>>()
        });
        bound.join().unwrap()
    };
    let ours = sched_getaffinity(None).unwrap().count() as usize;
    let cores: Vec<_> = (0..=ours).map(core).collect();
    assert!(cores.iter().all(|core| core.len() == 1), "{cores:?}");
    assert_eq!(cores[0], cores[ours]);
    assert!(ours == 1 || cores[0] != cores[1]);
}
