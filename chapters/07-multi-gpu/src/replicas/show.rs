//! What the page's cells show: replicas against one device.

use crate::{
    Communicator, Result,
    replicas::{
        link::{Joint, Link},
        run::{in_own_pool, train_rank},
    },
    split::{
        equality::largest,
        group::{ALL, DATA},
        hybrid::{Grid, Settings as Split},
        ranks::original,
    },
    threads,
};
use engine::{model, program::What, ranks::Ranks as _};
use lab::data::{self, DataSet};
use mixed_precision::amp::makers;
use std::sync::{Arc, Mutex};
use training::{Config, EngineKind, Model, Outcome, Settings, Silent, optimizer::Rule};

/// Twenty steps of a model without dropout, in batches of 13 images, which divide by nothing; the last of each epoch
/// has
/// 10.
pub fn twenty_steps(model: Model) -> (Config, DataSet) {
    let base = Settings { model, epochs: 5, batch: 13, lr: 0.05, seed: 3, ..Settings::default() };
    let (engine, optimizer) = (EngineKind::Fast, Rule::Sgd);
    let settings = Settings { engine, optimizer, dropout: 0.0, ..base };
    (Config { settings, makers: makers(), ..Config::default() }, data::drawn(49, 23, 1))
}

/// What each of `size` threads has reached.
///
/// # Errors
/// As [`train_rank`].
pub fn all(size: usize, config: &Config, data: &DataSet) -> Result<Vec<Outcome>> {
    threads::run(size, |comm| {
        in_own_pool(comm.rank(), 1, || Ok(train_rank(comm, config, data, &mut Silent)?.0))
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

/// A rank's link, and what its program would ask the others by.
///
/// # Errors
/// As [`Link::join`].
pub fn linked(comm: impl Communicator + 'static) -> Result<(Link, Joint)> {
    let link = Link::new(Arc::new(Mutex::new(comm)));
    let joint = link.join(&model::linear(1), &Split::of(Grid::replicas_of(link.size)))?.1;
    Ok((link, joint))
}

/// What a program asks in a step: the sum of a gradient, and then that of the losses, of which this rank has these parts, with what
/// it has seen of its gradient before.
///
/// # Errors
/// The communicator's, and those that name a rank.
pub fn sums(joint: &mut Joint, gradient: &mut [f32], losses: &mut [f32; 2]) -> Result<()> {
    let broken = !gradient.iter().all(|number| number.is_finite());
    joint.meet(What::Sum, DATA, &[], gradient).map_err(original)?;
    let mut message = [losses[0], losses[1], f32::from(u8::from(broken))];
    joint.meet(What::Sum, ALL, &[], &mut message).map_err(original)?;
    losses.copy_from_slice(&message[..2]);
    Ok(())
}
