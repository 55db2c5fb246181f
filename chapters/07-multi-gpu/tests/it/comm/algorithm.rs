use multi_gpu::comm::counting::{Counting, Traffic};
use multi_gpu::{Rank, comm::Algorithm, comm::cost::AlphaBeta, threads};

const SIZES: [usize; 5] = [1, 2, 3, 5, 8];
#[test]
fn as_much_is_said_as_the_formulas_say() {
    let len = 8 * 3 * 5 * 7;
    for size in SIZES {
        for algorithm in Algorithm::ALL {
            if algorithm == Algorithm::Halving && !size.is_power_of_two() {
                continue;
            }
            let said = threads::run(size, |comm| {
                let mut comm = Counting::new(comm);
                algorithm.all_reduce(&mut comm, &mut vec![1.0; len])?;
                Ok(comm.traffic())
            })
            .unwrap();
            for (rank, said) in said.into_iter().enumerate() {
                let wanted = match algorithm {
                    Algorithm::Naive => Traffic::naive(Rank(rank), 4 * len, size),
                    Algorithm::Tree => Traffic::tree(Rank(rank), 4 * len, size),
                    Algorithm::Halving => Traffic::halving(4 * len, size),
                    Algorithm::Ring => Traffic::ring(4 * len, size),
                };
                assert_eq!(said, wanted, "{algorithm:?}, rank {rank} of {size}");
            }
        }
    }
}

#[test]
fn the_prediction_counts_the_messages_of_the_busiest_rank() {
    // The busiest rank's messages, each way one after the other, are what the formula counts as α.
    let alpha = AlphaBeta { alpha: 1.0, beta: 0.0 };
    let same = |messages: usize, counted: f64| assert!((counted - messages as f64).abs() < 1e-9);
    for size in SIZES {
        let both = |root: Traffic| root.sent + root.received;
        same(both(Traffic::naive(Rank(0), 0, size)), alpha.naive(0.0, size));
        same(both(Traffic::tree(Rank(0), 0, size)), alpha.tree(0.0, size));
        // On a ring a rank sends and receives at the same time.
        same(Traffic::ring(0, size).sent, alpha.ring(0.0, size));
    }
}

#[test]
fn the_least_time_is_taken() {
    let link = AlphaBeta { alpha: 1e-5, beta: 1e-9 };
    assert_eq!(Algorithm::best(link, 4.0, 8), Algorithm::Tree);
    assert_eq!(Algorithm::best(link, 1e9, 8), Algorithm::Ring);
    assert_eq!(Algorithm::best(link, 4.0, 2), Algorithm::Ring); // half as much each way
    assert_eq!(Algorithm::best(link, 4.0, 1), Algorithm::Naive);
}
