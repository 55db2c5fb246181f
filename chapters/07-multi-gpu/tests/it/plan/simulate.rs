use multi_gpu::comm::cost::AlphaBeta;
use multi_gpu::plan::network::{Network, Route};
use multi_gpu::plan::simulate::{Buckets, Job, Layer, expected_max};
use proptest::prelude::*;

fn job(layers: &[(f64, f64, f64)], buckets: Buckets) -> Job {
    let layer = |&(forward, backward, bytes): &(f64, f64, f64)| Layer { forward, backward, bytes };
    let layers = layers.iter().map(layer).collect();
    Job { layers, buckets, route: Some(Route::Ring), update: 0.0, jitter: 0.0 }
}

fn network() -> Network {
    Network::flat(AlphaBeta { alpha: 0.5, beta: 1.0 })
}

#[test]
fn the_largest_of_several_draws() {
    // Two draws: 1/√π. The others: David and Nagaraja 2003, "Order Statistics", table of expected values.
    for (p, wanted) in [(1, 0.0), (2, 0.564_19), (3, 0.846_28), (10, 1.538_75), (100, 2.507_59)] {
        assert!((expected_max(p) - wanted).abs() < 1e-4, "{p}: {}", expected_max(p));
    }
}

#[test]
fn a_timeline_by_hand() {
    // Two layers, two cards: an all-reduce of n bytes takes 2·0.5 + n. Forward ends at 2, the second layer's
    // gradient (3 bytes) is there at 4, the first one's (1 byte) at 6.
    let layers = [(1.0, 2.0, 1.0), (1.0, 2.0, 3.0)];
    let one_by_one = job(&layers, Buckets::Full(0.0)).step(&network(), 2);
    assert_eq!(one_by_one.messages, [(4.0, 8.0), (8.0, 10.0)]);
    assert_eq!((one_by_one.total, one_by_one.compute, one_by_one.exposed), (10.0, 6.0, 4.0));
    let last = job(&layers, Buckets::AtTheEnd).step(&network(), 2);
    assert_eq!(last.messages, [(6.0, 11.0)]);
    let together = job(&layers, Buckets::Full(3.5)).step(&network(), 2);
    assert_eq!(together.messages, last.messages);
    // Horovod's clock ticks at 0, 5, 10; the second tick finds one gradient, the third the other one.
    let ticks = job(&layers, Buckets::Every(5.0, 100.0)).step(&network(), 2);
    assert_eq!(ticks.messages, [(5.0, 9.0), (10.0, 12.0)]);
}

#[test]
fn alone_nothing_is_sent_and_no_rank_is_waited_for() {
    let step =
        Job { jitter: 0.1, ..job(&[(1.0, 2.0, 5.0)], Buckets::Full(0.0)) }.step(&network(), 1);
    assert_eq!((step.total, step.exposed, step.compute), (3.0, 0.0, 3.0));
    assert!(step.messages.is_empty());
}

proptest! {
    #[test]
    fn all_bytes_travel_once_in_order_and_hiding_never_hurts_more_than_latency(
        layers in proptest::collection::vec((0.0_f64..2.0, 0.0_f64..2.0, 0.0_f64..9.0), 1..20),
        p in 2_usize..50, size in 0.0_f64..20.0,
    ) {
        let network = Network::flat(AlphaBeta { alpha: 0.0, beta: 1.0 });
        let at_end = job(&layers, Buckets::AtTheEnd).step(&network, p);
        for buckets in [Buckets::Full(size), Buckets::Every(0.1, size)] {
            let step = job(&layers, buckets).step(&network, p);
            prop_assert!((step.communication() - at_end.communication()).abs() < 1e-9);
            prop_assert!(step.messages.windows(2).all(|m| m[0].1 <= m[1].0 + 1e-12));
            prop_assert!(step.total >= step.compute);
            // Without latency, buckets can only help; a clock costs a tick for each message.
            let ticks = if matches!(buckets, Buckets::Full(_)) { 0.0 } else { 0.1 * step.messages.len() as f64 };
            prop_assert!(step.total <= at_end.total + ticks + 1e-9);
        }
    }
}
