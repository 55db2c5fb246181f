//! What is asked for before a run of replicas against what it then has, by chapter 5's meter. It has a program of its own: the
//! meter counts every thread.

use lab::data;
use mixed_precision::amp::makers;
use multi_gpu::{
    Rank,
    replicas::run::{bytes, in_own_pool, needs, threads_each, train_threads},
};
use performance::memory::meter::Scope;
use training::{
    Config, EngineKind, Model, Settings, Watcher,
    fit::TEST_BATCH,
    watch::{Epoch, Step},
};

/// Images of a replica in a step.
const PART: usize = 85;

/// Sees what buffers take when all ranks have trained and tested.
struct Look<'s> {
    scope: &'s Scope,
    steps: usize,
    buffers: u64,
}

impl Watcher for Look<'_> {
    /// Behind the first step no rank asks whether there is memory, which is to reserve it for a moment.
    fn step(&mut self, _: &Step) {
        self.steps += 1;
        if self.steps == 1 {
            self.scope.reset();
        }
    }

    fn epoch(&mut self, _: &Epoch) {
        self.buffers = self.scope.buffers();
    }
}

/// The buffers are what the plan says, byte for byte, and what is beside them is no more than was asked for.
#[test]
fn replicas_take_what_is_asked_for() {
    let large = [(Model::Cnn, 3, None), (Model::Transformer, 2, None)];
    for (model, ranks, accumulate) in large.into_iter().chain([(Model::Mlp, 2, Some(40))]) {
        let (engine, batch) = (EngineKind::Fast, ranks * PART);
        let base = Settings { engine, accumulate, batch, ..Settings::of(model) };
        let settings = Settings { epochs: 1, augment: false, patience: None, ..base };
        let data = data::drawn(3 * batch, ranks * TEST_BATCH, 1);
        let config = Config { settings, makers: makers(), ..Config::default() };
        let scope = Scope::begin();
        let mut look = Look { scope: &scope, steps: 0, buffers: 0 };
        train_threads(ranks, &config, &data, &mut look).unwrap();
        let (found, buffers) = (scope.peak(), look.buffers);
        let settings = &config.settings;
        // With a rank's threads.
        let asked = in_own_pool(Rank(0), threads_each(ranks), || {
            Ok([needs(settings, PART).total(), bytes(settings, ranks, &data)])
        });
        let [planned, asked] = asked.unwrap().map(|bytes| bytes * ranks as u64);
        println!("{model}, {ranks} ranks: {found} of {asked}");
        assert_eq!(buffers, planned, "{model}");
        // Lists of calls, and what products lay out for themselves.
        let beside = ranks as u64 * (3 << 20);
        assert!(found < asked + beside && 10 * found > 7 * asked, "{model}: {found} of {asked}");
    }
}
