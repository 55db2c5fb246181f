//! What is asked for before a run of replicas against what it then has, by chapter 5's meter. It has a program of its own: the
//! meter counts every thread.

use lab::data;
use mixed_precision::amp::makers;
use multi_gpu::{
    Rank, part_of,
    replicas::run::{bytes, train_threads},
};
use performance::memory::meter::Scope;
use training::{Config, EngineKind, Model, Settings, Silent};

#[test]
fn replicas_take_what_is_asked_for() {
    for (model, ranks) in [(Model::Cnn, 3), (Model::Transformer, 2)] {
        let settings = Settings {
            engine: EngineKind::Fast,
            epochs: 1,
            batch: 256,
            augment: false,
            ..Settings::of(model)
        };
        let data = data::drawn(512, 500, 1);
        let config = Config { settings, makers: makers(), ..Config::default() };
        let scope = Scope::begin();
        train_threads(ranks, &config, &data, &mut Silent).unwrap();
        let part = part_of(config.settings.batch, Rank(0), ranks).len();
        let asked = bytes(&config.settings, part) * ranks as u64;
        let found = scope.peak();
        println!("{model}, {ranks} ranks: {found} of {asked}");
        // Beside it a rank has the data set as numbers.
        let beside = ranks as u64 * (8 << 20);
        assert!(found < asked + beside && 10 * found > 7 * asked, "{model}: {found} of {asked}");
    }
}
