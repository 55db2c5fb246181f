use multi_gpu::measured::experiments::plan::{Placement, Replica, link, measured};
use multi_gpu::{Communicator, threads};

#[test]
fn ranks_that_talk_stay_equal_and_take_time() {
    let sizes = [20, 9, 10];
    for (together, bound) in [(true, true), (true, false), (false, true)] {
        let setup = Placement { ranks: 3, together, bound };
        assert!(measured(&sizes, 12, 2, setup).unwrap() > 0.0, "{setup:?}");
    }
    let models = threads::run(3, |mut rank| {
        let mut replica = Replica::new(&sizes, 4 + rank.rank().0)?;
        for _ in 0..3 {
            let mut gradient = replica.gradient()?;
            rank.all_reduce(&mut gradient)?;
            replica.update(&gradient, 3);
        }
        Ok(replica.model.parameters())
    })
    .unwrap();
    assert!(models[1..].iter().all(|model| *model == models[0]));
    assert!(models[0] != Replica::new(&sizes, 4).unwrap().model.parameters());
}

#[test]
fn a_link_has_latency_or_bandwidth() {
    for (ranks, bound) in [(2, false), (2, true), (3, true)] {
        let link = link(ranks, 3, bound).unwrap();
        assert!(link.alpha >= 0.0 && link.beta >= 0.0 && link.alpha + link.beta > 0.0);
    }
}
