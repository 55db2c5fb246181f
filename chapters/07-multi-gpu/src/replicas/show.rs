//! What the page's cells show: replicas against one device.

use crate::{
    Result,
    replicas::run::{in_own_pool, train_rank},
    split::equality::largest,
    threads,
};
use lab::data::{self, DataSet};
use std::{cell::Cell, rc::Rc};
use training::{
    Config, Model, Outcome, Settings, Silent,
    any::AllModels as _,
    dfdx::prelude::Cpu,
    engine::Resident,
    optimizer::Rule,
    ready::{self, Place},
};

/// Twenty steps of a model without dropout, in batches of 13 images, which divide by nothing; the last of each epoch
/// has
/// 10.
pub fn twenty_steps(model: Model) -> (Config, DataSet) {
    let base = Settings { model, epochs: 5, batch: 13, lr: 0.05, seed: 3, ..Settings::default() };
    let settings = Settings { optimizer: Rule::Sgd, dropout: 0.0, ..base };
    (Config { settings, ..Config::default() }, data::drawn(49, 23, 1))
}

/// What each of `size` threads has reached.
///
/// # Errors
/// As [`train_rank`].
pub fn all(size: usize, config: &Config, data: &DataSet) -> Result<Vec<Outcome>> {
    threads::run(size, |comm| {
        in_own_pool(comm.rank(), 1, || Ok(train_rank(Box::new(comm), config, data, &mut Silent)?.0))
    })
}

/// Trains with `size` replicas and with one device, and prints how far apart they end.
///
/// # Errors
/// As [`train_rank`].
pub fn against_one_device(model: Model, size: usize) -> Result<()> {
    let (config, data) = twenty_steps(model);
    let one = training::train_on(&config, &data, &mut Silent)?;
    let ranks = all(size, &config, &data)?;
    let equal = ranks.iter().all(|rank| rank.weights == ranks[0].weights);
    println!("{model}, {} weights, 20 steps, {size} replicas", one.weights.len());
    println!("equal to each other, bit for bit: {equal}");
    println!("furthest from one device: {:.1e}", largest(&ranks[0].weights, &one.weights));
    Ok(())
}

/// How many gradients of a model are told before its backward pass has ended, and how many it has.
///
/// # Errors
/// As [`train_rank`].
pub fn told_early(model: Model) -> Result<[usize; 2]> {
    let (config, data) = twenty_steps(model);
    let (dev, told) = (Cpu::seed_from_u64(config.settings.seed), Rc::new(Cell::new(0)));
    let (mut learner, batch) = (dev.learner(&config.settings)?, [0, 1, 2]);
    let images = Resident::new(&dev, &data.train)?;
    let early = Rc::clone(&told);
    let listener = move |places: &[Place], _| {
        let numbers: usize = places.iter().map(|(_, numbers)| numbers).sum();
        early.set(early.get() + numbers);
    };
    ready::listen::<Cpu, _>(Box::new(listener), || {
        learner.gradients(images.images(&batch)?, images.targets(&batch)?)
    })?;
    Ok([told.get(), learner.learned()])
}
