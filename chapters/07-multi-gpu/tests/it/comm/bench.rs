use multi_gpu::comm::bench::{Effort, Implementation, bench, sizes};
use multi_gpu::{comm::algorithm::Algorithm, threads};
use std::time::Duration;

#[test]
fn every_size_and_way_is_timed_and_all_ranks_agree() {
    let effort = Effort { time: Duration::from_millis(1), least: 2, most: 3 };
    let ways = [Implementation::Ours(Algorithm::Ring), Implementation::Library];
    for p in [1, 2, 3] {
        let got = threads::run(p, |mut comm| bench(&mut comm, &ways, &[4, 64], effort)).unwrap();
        let names: Vec<_> = got[0].iter().map(|t| (t.what.as_str(), t.bytes)).collect();
        let wanted = [("message", 4), ("ring", 4), ("library", 4)];
        let small: Vec<_> = wanted.into_iter().skip(usize::from(p != 2)).collect();
        assert_eq!(names[..small.len()], small);
        assert_eq!(names.len(), 2 * small.len());
        for (at, timing) in got[0].iter().enumerate() {
            assert!((2..=3).contains(&timing.seconds.len()));
            assert!(timing.seconds.iter().all(|s| *s > 0.0));
            assert!(got.iter().all(|other| other[at].seconds == timing.seconds));
        }
    }
    assert_eq!(sizes(64 << 20).len(), 13);
    assert_eq!(sizes(100), [4, 16, 64]);
}
