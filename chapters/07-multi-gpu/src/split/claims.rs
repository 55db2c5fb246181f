//! What people claim about training on many devices, tested: the same training split in several ways, and the errors
//! that make it a different training.

use super::{
    hybrid::{Grid, Member, Settings},
    job::{Batch, Job, Network, Rule},
};
use crate::{Communicator, Error, Result, threads};
use backprop::{
    order::order,
    sgd::Sgd,
    softmax::best,
    train::{Examples, exploded},
};
use engine::{cpu::Ways, rule::adam, step::Step, tensor::Place};

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
    pub grid: Grid,
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
        let job = Job { network: Network::Dense(vec![784, 32, 10]), seed, rule };
        Self { job, grid: Grid::replicas_of(1), batch, epochs, sum: Sum::Right }
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
    let all = threads::run(trial.grid.ranks(), |comm| part(trial, train, comm))?;
    let Some(parameters) = all.into_iter().next() else {
        return Err(Error::Config("without ranks nothing is trained; take one at least".into()));
    };
    let answers = answers(&trial.job, &parameters, test)?;
    let right = answers.iter().zip(&test.labels).filter(|(a, label)| a == label).count();
    Ok(Learned { accuracy: right as f64 / answers.len() as f64, answers })
}

/// The batches of all epochs, in the order of the seed.
fn batches(trial: &Trial, train: &Examples) -> impl Iterator<Item = Batch> {
    (1..=trial.epochs).flat_map(move |epoch| {
        let order = order(trial.job.seed, epoch, train.len());
        let numbers: Vec<Vec<usize>> = order.chunks(trial.batch).map(<[usize]>::to_vec).collect();
        numbers.into_iter().map(move |numbers| train.batch(&numbers).into())
    })
}

/// A rank's part of the training.
fn part<C>(trial: &Trial, train: &Examples, comm: C) -> Result<Vec<f32>>
where
    C: Communicator + 'static,
{
    let ranks = comm.size();
    let mut member = Member::new(&trial.job, Settings::of(trial.grid), comm)?;
    member.step.set_clip(match trial.sum {
        Sum::Right => 1.0,
        Sum::OfMeans => ranks as f32,
        Sum::DividedTwice => 1.0 / ranks as f32,
    });
    for batch in batches(trial, train) {
        if exploded(member.step(&batch)?) {
            break;
        }
    }
    member.parameters()
}

/// The network's prediction for each image.
///
/// # Errors
/// As [`Job::model`].
pub fn answers(job: &Job, parameters: &[f32], test: &Examples) -> Result<Vec<u8>> {
    let mut step = Step::new(job.model()?, 1, Ways::default(), 0, adam);
    step.from_file(Place::Params, parameters);
    let mut answers = Vec::new();
    for pixels in test.pixels.chunks(1000 * test.width) {
        let rows = pixels.len() / test.width;
        step.fill(rows, pixels, &vec![0; rows]);
        let scores = step.predict(rows);
        answers.extend(scores.chunks_exact(scores.len() / rows).map(|row| best(row) as u8));
    }
    Ok(answers)
}

/// How many images two networks classify differently.
pub fn read_differently(one: &Learned, other: &Learned) -> usize {
    one.answers.iter().zip(&other.answers).filter(|(a, b)| a != b).count()
}
