//! One epoch of each rung, or of those named: for a look at a change before it is measured properly.

use backprop::{
    ladder::ladder,
    order::order,
    train::{Examples, Settings, test},
};
use std::time::Instant;

fn main() -> backprop::Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let data = lab::data::load(&lab::data::Options::default())?;
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    for batch in [32, 128] {
        for rung in ladder() {
            if !names.is_empty() && !names.iter().any(|name| name == rung.key) {
                continue;
            }
            let settings = Settings { batch, ..Settings::default() };
            let mut learner = (rung.learner)(settings)?;
            let mut seconds = Vec::new();
            for epoch in 1..=3 {
                let order = order(0, epoch, train.len());
                let start = Instant::now();
                learner.epoch(&train, &order, epoch)?;
                seconds.push(start.elapsed().as_secs_f64());
            }
            let accuracy = test(&learner.model()?, &tested)?;
            println!("{batch:4} {:20} {seconds:.3?} {accuracy:.4}", rung.key);
        }
    }
    Ok(())
}
