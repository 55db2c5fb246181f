//! Every way to split, against one device: the same batches, the same steps, and the largest difference of any
//! parameter.

use super::{
    hybrid::{Grid, Member, Settings, Sums},
    job::{Batch, Job, Network, Rule, Trained, one_device},
    schedule::Schedule,
    zero::Level,
};
use crate::{Communicator, Error, Result, threads};
use backprop::{adam::Adam, train::Examples};

/// A way to train on several ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Replicas and one all-reduce.
    Data,
    /// Layers on different ranks.
    Layers,
    /// Layers on different ranks, micro-batches in this order.
    Pipeline(Schedule, usize),
    /// Products split by columns and rows.
    Tensor,
    /// Replicas that do not keep everything.
    Zero(Level),
    /// All three at once, with one-forward-one-backward and this many micro-batches.
    Hybrid(Grid, usize),
    /// Replicas whose gradients are reduced in buckets of this many bytes.
    Overlap(usize),
}

impl Strategy {
    /// Its name in records: `zero-2`.
    pub fn name(self) -> String {
        match self {
            Self::Data => "data".into(),
            Self::Layers => "layers".into(),
            Self::Pipeline(schedule, micros) => format!("{}-{micros}", schedule.name()),
            Self::Tensor => "tensor".into(),
            Self::Zero(level) => format!("zero-{}", level.number()),
            Self::Hybrid(Grid { data, stages, tensor }, _) => {
                format!("hybrid-{data}x{stages}x{tensor}")
            }
            Self::Overlap(_) => "overlap".into(),
        }
    }

    /// The settings of the one engine that it is, for so many ranks.
    // ANCHOR: settings
    pub fn settings(self, ranks: usize) -> Settings {
        let one = Grid::replicas_of(1);
        let data = Settings::of(Grid::replicas_of(ranks));
        let staged = Settings::of(Grid { stages: ranks, ..one });
        match self {
            Self::Data | Self::Zero(Level::Nothing) => data,
            Self::Overlap(bytes) => data.with(Sums::Early(bytes)),
            Self::Zero(level) => data.with(Sums::Cut(level)),
            Self::Layers => staged,
            Self::Pipeline(schedule, micros) => staged.in_order(schedule, micros),
            Self::Tensor => Settings::of(Grid { tensor: ranks, ..one }),
            Self::Hybrid(grid, micros) => {
                let order = Schedule::OneForwardOneBackward;
                Settings::of(grid).in_order(order, micros)
            }
        }
    }
    // ANCHOR_END: settings

    /// Trains this rank's part, over any engine. All ranks return the whole network.
    ///
    /// # Errors
    /// As [`Member::new`] and [`Member::step`].
    pub fn train<C>(self, job: &Job, batches: &[Batch], comm: C) -> Result<Trained>
    where
        C: Communicator + 'static,
    {
        let settings = self.settings(comm.size());
        let mut member = Member::new(job, settings, comm)?;
        let losses = batches.iter().map(|batch| member.step(batch)).collect::<Result<_>>()?;
        Ok(Trained { parameters: member.parameters()?, losses })
    }
}

/// Something to try a split on: a network of four layers under Adam, and twenty batches of 97 drawn digits. 97 is a number
/// that no number of ranks divides.
pub fn example() -> (Job, Vec<Batch>) {
    let digits = Examples::of(&lab::data::drawn(20 * 97, 1, 1).train);
    let numbers: Vec<usize> = (0..digits.len()).collect();
    let batches = numbers.chunks(97).map(|numbers| digits.batch(numbers).into());
    let rule = Rule::Adam(Adam { eps: 1e-7, ..Adam::default() }); // Keras's ε
    let network = Network::Dense(vec![784, 64, 48, 32, 10]);
    let job = Job { network, seed: 1, rule };
    (job, batches.collect())
}

/// How far two trainings are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The largest difference of any parameter; NaN if one of them is not a number.
    pub parameters: f64,
    /// The largest difference of any batch's loss.
    pub losses: f64,
}

/// The largest difference of any two numbers; NaN if one is not a number or there are not as many.
pub fn largest<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    if a.len() != b.len() {
        return f64::NAN;
    }
    let off = |(a, b): (&T, &T)| ((*a).into() - (*b).into()).abs();
    // `f64::max` would forget a NaN.
    a.iter().zip(b).map(off).fold(0.0, |most, d| if d > most || d.is_nan() { d } else { most })
}

/// How far two trainings are apart.
pub fn difference(one: &Trained, other: &Trained) -> Difference {
    Difference {
        parameters: largest(&one.parameters, &other.parameters),
        losses: largest(&one.losses, &other.losses),
    }
}

/// Trains by `way` on `ranks` threads. All ranks have to come to the same parameters.
///
/// # Errors
/// Those of the way, and [`Error::Config`] if two ranks have different parameters.
pub fn split(strategy: Strategy, ranks: usize, job: &Job, batches: &[Batch]) -> Result<Trained> {
    let all = threads::run(ranks, |comm| strategy.train(job, batches, comm))?;
    let Some(first) = all.first() else {
        return Err(Error::Config("without ranks nothing is trained; take one at least".into()));
    };
    match all.iter().position(|other| other.parameters != first.parameters) {
        Some(rank) => Err(Error::Config(format!(
            "ranks 0 and {rank} have drifted apart by {:e}; all must take the same steps",
            largest(&first.parameters, &all[rank].parameters)
        ))),
        None => Ok(first.clone()),
    }
}

/// How far training by `way` is from training on one device.
///
/// # Errors
/// As [`split`] and [`one_device`].
pub fn against_one(
    strategy: Strategy,
    ranks: usize, // threads
    job: &Job,
    batches: &[Batch],
) -> Result<Difference> {
    let (one, other) = (one_device(job, batches)?, split(strategy, ranks, job, batches)?);
    Ok(difference(&one, &other))
}
