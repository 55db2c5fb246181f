//! The test of the exercise `which-all-reduce`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::best;
use lab::check::pairs;
use multi_gpu::comm::{Algorithm, AlphaBeta};

/// Two GPUs on a fast link, servers on a network, and one that only has latency.
const NVLINK: AlphaBeta = AlphaBeta { alpha: 5e-6, beta: 4e-12 };
const ETHERNET: AlphaBeta = AlphaBeta { alpha: 4e-5, beta: 8e-10 };
const FAR: AlphaBeta = AlphaBeta { alpha: 1e-2, beta: 0.0 };

#[test]
fn small_messages_take_the_tree() {
    for (p, link) in pairs([4, 5, 8, 64, 1000], [NVLINK, ETHERNET, FAR]) {
        assert_eq!(best(link, 4.0, p), Algorithm::Tree, "{p} ranks, {link:?}");
    }
}

#[test]
fn large_messages_take_the_ring() {
    for (p, link) in pairs([2, 3, 4, 8], [NVLINK, ETHERNET]) {
        assert_eq!(best(link, 5e8, p), Algorithm::Ring, "{p} ranks, {link:?}");
    }
}

#[test]
fn of_equals_the_first_is_taken() {
    assert_eq!(best(ETHERNET, 1e6, 1), Algorithm::Naive);
    assert_eq!(best(FAR, 1e9, 2), Algorithm::Naive); // all have two messages
}

#[test]
fn the_border_is_where_the_times_are_equal() {
    for (p, (link, log)) in pairs([4, 6, 16, 100], pairs([NVLINK, ETHERNET], 2..36)) {
        let bytes = 2_f64.powi(log);
        assert_eq!(best(link, bytes, p), Algorithm::best(link, bytes, p), "{bytes} {p}");
    }
}
