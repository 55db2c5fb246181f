use multi_gpu::comm::cost::AlphaBeta;
use multi_gpu::plan::network::{Network, Route};
use proptest::prelude::*;

fn network(island: usize, sharing: f64) -> Network {
    Network {
        island,
        inside: AlphaBeta { alpha: 3e-6, beta: 1.0 / 400e9 },
        between: AlphaBeta { alpha: 14e-6, beta: 1.0 / 50e9 },
        sharing,
    }
}

#[test]
fn a_shared_adapter_is_as_much_slower_as_there_are_cards_behind_it() {
    for route in Route::ALL {
        let own = network(8, 1.0).all_reduce(route, 1e12, 64);
        let shared = network(8, 8.0).all_reduce(route, 1e12, 64);
        assert!(shared / own > 3.0 && shared / own <= 8.0, "{route:?} {}", shared / own);
    }
    // From stage to stage, too, once there are more cards than an island has.
    let net = network(8, 8.0);
    assert_eq!(net.send(1e6, 8), net.inside.message(1e6));
    assert!(net.send(1e6, 9) > net.between.message(1e6));
}

#[test]
fn small_messages_want_a_tree_and_large_ones_do_not() {
    let network = network(8, 1.0);
    let best = |bytes| {
        let time = |route: &Route| network.all_reduce(*route, bytes, 4096);
        Route::ALL.into_iter().min_by(|a, b| time(a).total_cmp(&time(b))).unwrap()
    };
    assert_eq!(best(1e3), Route::Tree);
    assert_ne!(best(1e11), Route::Tree);
}

proptest! {
    #[test]
    fn more_bytes_never_take_less_and_one_island_or_islands_of_one_are_a_ring(
        bytes in 0.0_f64..1e10, p in 1_usize..5000, island in 1_usize..17,
    ) {
        let net = network(island, 1.0);
        for route in Route::ALL {
            let time = net.all_reduce(route, bytes, p);
            prop_assert!(time.is_finite() && time >= 0.0);
            prop_assert!(net.all_reduce(route, 2.0 * bytes + 1.0, p) >= time);
            prop_assert!(net.fastest(bytes, p) <= time);
        }
        let one = network(p, 1.0);
        for found in Route::ALL.map(|route| one.all_reduce(route, bytes, p)) {
            let ring = one.inside.ring(bytes, p);
            prop_assert!((found - ring).abs() <= 1e-9 * ring);
        }
        let flat = Network::flat(net.between);
        let ring = net.between.ring(bytes, p);
        let found = flat.all_reduce(Route::Hierarchical, bytes, p);
        prop_assert!((ring - found).abs() <= 1e-9 * ring);
    }
}
