//! What is asked for before a run of replicas against what they then have, by chapter 5's meter. It has a program of its own:
//! the meter counts every thread.

use language_model::{
    Config, Model,
    devices::replicas,
    runner::memory::of_replicas,
    train::{Backend as _, Settings, Trainer},
};
use performance::memory::meter::Scope;

#[test]
fn replicas_take_what_is_asked_for() {
    let config = Config::tiny();
    let stream: Vec<u32> = (0..2000_u32).map(|i| i * i % 1000).collect();
    for ranks in [2, 3] {
        let settings = Settings { batch: 12, length: config.context, ..Settings::default() };
        let scope = Scope::begin();
        let model = Model::new(config, 1).unwrap();
        let trainer = Trainer::new(model, settings, &stream, 1).unwrap();
        let led = replicas::threads(ranks, None, |team| {
            let mut replicas = team.lead(&trainer)?;
            replicas.step(&stream)?;
            replicas.step(&stream)
        });
        led.unwrap();
        let (found, asked) = (scope.peak(), of_replicas(&config, &settings, [ranks; 2]));
        println!("{ranks} ranks: {found} of {asked}");
        let part = found as f64 / asked as f64;
        assert!((0.75..1.0).contains(&part), "{ranks} ranks: {found} of {asked}");
    }
}
