use multi_gpu::{Communicator, comm::AlphaBeta, split::wire::Wire, threads};
use std::time::Instant;

#[test]
fn an_all_reduce_takes_what_the_formula_says_and_more_only_by_waiting() {
    let cost = AlphaBeta { alpha: 2e-3, beta: 1e-6 };
    let (ranks, numbers) = (3, 3000);
    let ran = threads::run(ranks, |comm| {
        let mut wire = Wire::new(comm, cost);
        let mut data = vec![1.0; numbers];
        let start = Instant::now();
        wire.all_reduce(&mut data)?;
        assert_eq!(data, vec![3.0; numbers]);
        Ok(start.elapsed().as_secs_f64())
    })
    .unwrap();
    let predicted = cost.ring(4.0 * numbers as f64, ranks);
    assert!((predicted - 4.0 * (2e-3 + 4e-3)).abs() < 1e-12);
    assert!(ran.iter().all(|seconds| *seconds >= predicted), "{ran:?} < {predicted}");
}
