//! What people claim about training on many devices, tested: the same training split in several ways, and the errors
//! that make it a different training.

use super::{
    data_parallel::gradient,
    hybrid::{Grid, Member},
    job::{Batch, Job, Rule, Update},
    schedule::Schedule,
};
use crate::{Communicator, Error, Result, threads};
use backprop::{
    mlp::Mlp,
    order::order,
    sgd::Sgd,
    softmax::best,
    train::{Examples, exploded},
};
use std::time::Instant;

/// How the ranks share the work correctly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Each has a part of the batch.
    Data,
    /// Each has a part of the network.
    Model(Grid),
}

/// What is done with the gradients of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Each weighed by its fraction of the batch, and added up.
    Right,
    /// The mean gradient of each rank's images, added up: p times too long.
    OfMeans,
    /// Weighed correctly, added up, and divided by p once more.
    DividedTwice,
}

/// One way to train, from the first weights to the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The network, its seed, and the learning rate.
    pub job: Job,
    /// Who has what.
    pub share: Share,
    /// How many ranks.
    pub ranks: usize,
    /// Images of a batch, on all ranks together.
    pub batch: usize,
    /// How often all images are seen.
    pub epochs: usize,
    /// What is done with the gradients.
    pub sum: Sum,
}

impl Trial {
    /// One device: the network of sizes 784-32-10, by gradient descent.
    pub fn one(seed: u64, lr: f64, batch: usize, epochs: usize) -> Self {
        let rule = Rule::Sgd(Sgd { lr, momentum: 0.0 });
        let job = Job { sizes: vec![784, 32, 10], seed, rule };
        Self { job, share: Share::Data, ranks: 1, batch, epochs, sum: Sum::Right }
    }
}

/// The result of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// The prediction for each test image.
    pub answers: Vec<u8>,
    /// The fraction of correct ones.
    pub accuracy: f64,
}

/// Trains as planned and tests. A training that diverges stops there, as in every program.
///
/// # Errors
/// Those of the ranks.
pub fn learn(trial: &Trial, train: &Examples, test: &Examples) -> Result<Learned> {
    let all = threads::run(trial.ranks, |mut comm| match trial.share {
        Share::Data => replica(trial, train, &mut comm),
        Share::Model(grid) => part(trial, grid, train, &mut comm),
    })?;
    let Some(parameters) = all.into_iter().next() else {
        return Err(Error::Config("no rank can't train; take one at least".into()));
    };
    let mut model = Mlp::zeros(&trial.job.sizes)?;
    model.set_parameters(&parameters)?;
    let answers = answers(&model, test)?;
    let right = answers.iter().zip(&test.labels).filter(|(a, label)| a == label).count();
    Ok(Learned { accuracy: right as f64 / answers.len() as f64, answers })
}

/// The batches of all epochs, in the order of the seed.
fn batches(trial: &Trial, train: &Examples) -> impl Iterator<Item = Batch> {
    (1..=trial.epochs).flat_map(move |epoch| {
        let order = order(trial.job.seed, epoch, train.len());
        let numbers: Vec<Vec<usize>> = order.chunks(trial.batch).map(<[usize]>::to_vec).collect();
        numbers.into_iter().map(move |numbers| {
            let (x, labels) = train.batch(&numbers);
            Batch { x, labels }
        })
    })
}

/// Data parallel, with the sum of the plan.
fn replica(trial: &Trial, train: &Examples, comm: &mut dyn Communicator) -> Result<Vec<f32>> {
    let mut model = trial.job.model()?;
    let mut parameters = model.parameters();
    let mut update = Update::new(trial.job.rule, parameters.len());
    let ranks = comm.size() as f32;
    let factor = match trial.sum {
        Sum::Right => 1.0,
        Sum::OfMeans => ranks,
        Sum::DividedTwice => 1.0 / ranks,
    };
    for batch in batches(trial, train) {
        let mut flat = gradient(&model, &batch, comm.rank(), comm.size())?;
        comm.all_reduce(&mut flat)?;
        if flat.pop().is_none_or(|loss| exploded(f64::from(loss))) {
            break;
        }
        for g in &mut flat {
            *g *= factor;
        }
        update.step(&mut parameters, &flat);
        model.set_parameters(&parameters)?;
    }
    Ok(parameters)
}

/// A network split over a grid.
fn part(
    trial: &Trial,
    grid: Grid,
    train: &Examples,
    comm: &mut dyn Communicator,
) -> Result<Vec<f32>> {
    let order = (Schedule::OneForwardOneBackward, 1);
    let mut member = Member::new(&trial.job, grid, order, (comm.rank(), comm.size()))?;
    let since = Instant::now();
    for batch in batches(trial, train) {
        let (loss, _) = member.step(&batch, since, comm)?;
        if exploded(loss) {
            break;
        }
    }
    member.parameters(&trial.job, comm)
}

/// The network's prediction for each image.
fn answers(model: &Mlp<f32>, test: &Examples) -> Result<Vec<u8>> {
    let mut answers = Vec::new();
    for pixels in test.pixels.chunks(1000 * test.width) {
        let pass = model.forward(pixels, None)?;
        answers.extend(pass.scores.chunks_exact(model.classes()).map(|row| best(row) as u8));
    }
    Ok(answers)
}

/// How many images two networks classify differently.
pub fn read_differently(one: &Learned, other: &Learned) -> usize {
    one.answers.iter().zip(&other.answers).filter(|(a, b)| a != b).count()
}
