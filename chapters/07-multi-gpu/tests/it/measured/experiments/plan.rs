use multi_gpu::measured::experiments::plan::{Placement, link, measured};

#[test]
fn steps_of_any_placement_take_time() {
    let sizes = [20, 9, 10];
    for (together, bound) in [(true, true), (true, false), (false, true)] {
        let setup = Placement { ranks: 3, together, bound };
        assert!(measured(&sizes, 12, 2, setup).unwrap() > 0.0, "{setup:?}");
    }
}

#[test]
fn a_link_has_latency_or_bandwidth() {
    for ranks in [2, 3] {
        let link = link(ranks, 3).unwrap();
        assert!(link.alpha >= 0.0 && link.beta >= 0.0 && link.alpha + link.beta > 0.0);
    }
}
