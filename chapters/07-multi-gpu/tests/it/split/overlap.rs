use multi_gpu::split::overlap::{CommThread, buckets, predict};
use multi_gpu::{Error, Rank, comm::AlphaBeta, threads};
use std::sync::{Arc, Mutex};

#[test]
fn a_wire_that_costs_nothing_ends_with_the_backward_pass() {
    let layers = [(100, 1.0), (1000, 2.0), (10, 3.0)];
    assert_eq!(predict(&layers, 0, AlphaBeta::NOTHING, 4), 6.0);
    // One rank has no other to send to.
    assert_eq!(predict(&layers, 0, AlphaBeta { alpha: 9.0, beta: 9.0 }, 1), 6.0);
}

#[test]
fn only_what_the_backward_pass_does_not_cover_is_seen() {
    // With two ranks an all-reduce of n numbers takes 2 (1 + 2 n) seconds.
    let cost = AlphaBeta { alpha: 1.0, beta: 1.0 };
    let layers = [(1, 100.0), (2, 100.0), (3, 100.0)];
    assert_eq!(predict(&layers, 0, cost, 2), 300.0 + 14.0); // the last layer's alone
    assert_eq!(predict(&layers, usize::MAX, cost, 2), 300.0 + 26.0); // all, at the end
    assert_eq!(predict(&layers, 9, cost, 2), 300.0 + 14.0); // the first two together
    // A wire that is slower than the computation is never free.
    let slow = [(1000, 1.0); 3];
    assert_eq!(predict(&slow, 0, cost, 2), 1.0 + 3.0 * 4002.0);
}

#[test]
fn a_rank_that_ends_is_no_endless_wait_for_the_others() {
    let failed = threads::run(2, |comm| {
        if comm.rank() == Rank(1) {
            return Err(Error::Config("enough".into()));
        }
        let comms = CommThread::open(Arc::new(Mutex::new(comm)))?;
        comms.send(vec![1.0; 8]);
        assert!(matches!(comms.sum(), Err(Error::Lost { rank: Rank(1), .. })));
        comms.send(vec![1.0]); // into the void
        comms.sum().map(|_| ())
    });
    assert_eq!(failed.unwrap_err().to_string(), "enough");
}

#[test]
fn buckets_are_the_whole_buffer_from_its_end() {
    let layers = [0..100, 100..110, 110..150, 150..151];
    for (bytes, starts) in
        [(0, &[150, 110, 100, 0][..]), (5, &[110, 100, 0]), (200, &[100, 0]), (usize::MAX, &[0])]
    {
        let (found, mut end) = (buckets(&layers, bytes), 151);
        assert!(found.iter().map(|bucket| bucket.start).eq(starts.iter().copied()), "{found:?}");
        for bucket in found {
            assert_eq!(bucket.end, end);
            end = bucket.start;
        }
    }
    assert!(buckets(&[], 1).is_empty());
}
