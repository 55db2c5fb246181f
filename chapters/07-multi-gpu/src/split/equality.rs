//! Every way to split, against one device: the same batches, the same steps, and the largest difference of any
//! parameter.

use super::{
    data_parallel, hybrid,
    hybrid::Grid,
    job::{Batch, Job, Rule, Trained, one_device},
    layers, overlap,
    schedule::Schedule,
    zero::{self, Level},
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

    /// Its displayed name: `ZeRO, stage 2`.
    pub fn label(self) -> String {
        match self {
            Self::Data => "data parallel".into(),
            Self::Layers => "layers".into(),
            Self::Pipeline(Schedule::Gpipe, micros) => format!("GPipe, {}", of_micros(micros)),
            Self::Pipeline(Schedule::OneForwardOneBackward, micros) => {
                format!("1F1B, {}", of_micros(micros))
            }
            Self::Tensor => "tensor parallel".into(),
            Self::Zero(level) => format!("ZeRO, stage {}", level.number()),
            Self::Hybrid(Grid { data, stages, tensor }, _) => {
                format!("data {data} × pipeline {stages} × tensor {tensor}")
            }
            Self::Overlap(_) => "data parallel, overlapped".into(),
        }
    }

    /// Trains this rank's part, over any engine.
    ///
    /// # Errors
    /// Those of the way.
    pub fn train<C: Communicator + 'static>(
        self,
        job: &Job,
        batches: &[Batch],
        mut comm: C,
    ) -> Result<Trained> {
        let c = &mut comm;
        match self {
            Self::Data => data_parallel::train(job, batches, c),
            Self::Layers => layers::train(job, batches, c),
            Self::Pipeline(schedule, micros) => {
                let grid = Grid { data: 1, stages: c.size(), tensor: 1 };
                hybrid::train(job, batches, grid, (schedule, micros), c)
            }
            Self::Tensor => {
                let grid = Grid { data: 1, stages: 1, tensor: c.size() };
                hybrid::train(job, batches, grid, (Schedule::Gpipe, 1), c)
            }
            Self::Zero(level) => zero::train(job, batches, level, c),
            Self::Hybrid(grid, micros) => {
                let order = (Schedule::OneForwardOneBackward, micros);
                hybrid::train(job, batches, grid, order, c)
            }
            Self::Overlap(bucket) => overlap::train(job, batches, bucket, comm),
        }
    }
}

/// Something to try a split on: a network of four layers under Adam, and twenty batches of 97 drawn digits. 97 is a number
/// that no number of ranks divides.
pub fn example() -> (Job, Vec<Batch>) {
    let digits = Examples::of(&lab::data::drawn(20 * 97, 1, 1).train);
    let numbers: Vec<usize> = (0..digits.len()).collect();
    let batches = numbers.chunks(97).map(|numbers| {
        let (x, labels) = digits.batch(numbers);
        Batch { x, labels }
    });
    let rule = Rule::Adam(Adam { eps: 1e-7, ..Adam::default() }); // Keras's ε
    let job = Job { sizes: vec![784, 64, 48, 32, 10], seed: 1, rule };
    (job, batches.collect())
}

/// `1 micro-batch`, `8 micro-batches`.
fn of_micros(micros: usize) -> String {
    format!("{micros} micro-batch{}", if micros == 1 { "" } else { "es" })
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
        return Err(Error::Config("no rank trains nothing; take one at least".into()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::job::tests::batches;
    use backprop::sgd::Sgd;

    const RULES: [Rule; 2] = [
        Rule::Sgd(Sgd { lr: 0.1, momentum: 0.9 }),
        Rule::Adam(Adam { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8 }),
    ];

    fn job(sizes: &[usize], rule: Rule) -> Job {
        Job { sizes: sizes.to_vec(), seed: 3, rule }
    }

    /// Each of the ways on each number of ranks, twenty steps on batches of each of these lists of sizes, in turns.
    #[track_caller]
    fn equal(ways: &[Strategy], ranks: &[usize], rows: &[&[usize]], limit: f64) {
        let ranks = |way| ranks.iter().map(move |ranks| (way, *ranks));
        for (way, ranks) in ways.iter().flat_map(ranks) {
            for (rows, rule) in rows.iter().flat_map(|rows| RULES.map(|rule| (rows, rule))) {
                let (job, batches) = (job(&[13, 17, 11, 9, 5], rule), batches(13, 5, rows, 20));
                let found = against_one(*way, ranks, &job, &batches).unwrap();
                let near = found.parameters <= limit && found.losses <= 1e-5;
                assert!(near, "{} on {ranks}, {}: {found:?}", way.name(), rule.name());
            }
        }
    }

    #[test]
    fn data_parallel_is_one_device() {
        // Even parts, uneven ones, batches that change, and fewer images than ranks.
        let rows: [&[usize]; 4] = [&[24], &[23], &[16, 7, 30], &[2]];
        equal(&[Strategy::Data], &[2, 3, 4, 7], &rows, 1e-5);
    }

    #[test]
    fn one_rank_and_layers_on_ranks_of_their_own_are_one_device_bit_for_bit() {
        let grid = Grid { data: 1, stages: 1, tensor: 1 };
        let [gpipe, one] = Schedule::ALL.map(|schedule| Strategy::Pipeline(schedule, 1));
        let others =
            [Strategy::Data, Strategy::Tensor, Strategy::Overlap(100), Strategy::Hybrid(grid, 1)];
        equal(&others, &[1], &[&[23]], 0.0);
        equal(&Level::ALL.map(Strategy::Zero), &[1], &[&[23]], 0.0);
        equal(&[Strategy::Layers, gpipe, one], &[1, 2, 3, 4], &[&[23, 1]], 0.0);
    }

    #[test]
    fn a_pipeline_is_one_device() {
        for (ranks, micros) in [(2, 4), (3, 5), (4, 8), (4, 2), (2, 40)] {
            let ways = Schedule::ALL.map(|schedule| Strategy::Pipeline(schedule, micros));
            equal(&ways, &[ranks], &[&[24, 7]], 1e-5);
        }
    }

    #[test]
    fn both_schedules_are_the_same_bits() {
        let (job, batches) = (job(&[13, 17, 11, 9, 5], RULES[1]), batches(13, 5, &[23], 20));
        let [a, b] =
            Schedule::ALL.map(|s| split(Strategy::Pipeline(s, 6), 4, &job, &batches).unwrap());
        assert_eq!(a, b);
    }

    #[test]
    fn split_products_are_one_device() {
        // Up to more ranks than hidden units.
        equal(&[Strategy::Tensor], &[2, 3, 4, 12, 18], &[&[23]], 1e-5);
        // An odd number of layers: the last one is whole.
        let odd = job(&[13, 17, 11, 5], RULES[1]);
        let found = against_one(Strategy::Tensor, 3, &odd, &batches(13, 5, &[23], 20)).unwrap();
        assert!(found.parameters <= 1e-5, "{found:?}");
    }

    #[test]
    fn every_level_of_zero_and_buckets_of_any_size_are_one_device() {
        let zero = Level::ALL.map(Strategy::Zero);
        equal(&zero, &[2, 3, 5], &[&[24], &[23], &[2, 9]], 1e-5);
        let buckets = [0, 400, usize::MAX].map(Strategy::Overlap);
        equal(&buckets, &[2, 3], &[&[23, 2]], 1e-5);
    }

    #[test]
    fn two_ranks_have_one_order_of_sums_so_all_replicas_agree_bit_for_bit() {
        let (job, batches) = (job(&[13, 17, 11, 9, 5], RULES[1]), batches(13, 5, &[23], 20));
        let data = split(Strategy::Data, 2, &job, &batches).unwrap();
        let overlaps = [0, 500, usize::MAX].map(Strategy::Overlap);
        for way in Level::ALL.map(Strategy::Zero).into_iter().chain(overlaps) {
            let found = split(way, 2, &job, &batches).unwrap();
            assert_eq!(found.parameters, data.parameters, "{way:?}");
        }
    }

    #[test]
    fn every_grid_of_eight_ranks_is_one_device() {
        let cuts = [1, 2, 4, 8].map(|data| [1, 2, 4].map(|stages| (data, stages)));
        let cuts = cuts.into_iter().flatten().filter(|(data, stages)| 8 % (data * stages) == 0);
        let grid = |(data, stages)| Grid { data, stages, tensor: 8 / data / stages };
        let grids: Vec<_> = cuts.map(|cut| Strategy::Hybrid(grid(cut), 3)).collect();
        equal(&grids, &[8], &[&[24, 11]], 1e-5);
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        let (job, batches) = (job(&[13, 17, 5], RULES[0]), batches(13, 5, &[6], 1));
        let refused = |way, ranks| split(way, ranks, &job, &batches).unwrap_err().to_string();
        assert!(refused(Strategy::Layers, 3).contains("2 layers can't be put on 3 devices"));
        assert!(refused(Strategy::Pipeline(Schedule::Gpipe, 0), 2).contains("one at least"));
        assert!(refused(Strategy::Data, 0).contains("one at least"));
        let empty = [Batch::default()];
        for strategy in [
            Strategy::Data,
            Strategy::Layers,
            Strategy::Tensor,
            Strategy::Zero(Level::Parameters),
            Strategy::Overlap(1),
        ] {
            let error = split(strategy, 2, &job, &empty).unwrap_err().to_string();
            assert!(error.contains("the batch is empty"), "{strategy:?}: {error}");
        }
    }

    #[test]
    fn the_example_can_be_split() {
        let (job, batches) = example();
        assert_eq!((batches.len(), batches[19].len()), (20, 97));
        let found = against_one(Strategy::Data, 2, &job, &batches).unwrap();
        assert!(found.parameters > 0.0 && found.parameters <= 1e-5, "{found:?}");
    }

    #[test]
    fn a_difference_cannot_hide_in_nan() {
        assert!(largest(&[1.0, f64::NAN, 2.0], &[1.0, 1.0, 7.0]).is_nan());
        assert!(largest(&[1.0], &[1.0, 2.0]).is_nan());
        assert_eq!(largest(&[1.0, -2.0], &[1.5, 2.0]), 4.0);
    }
}
