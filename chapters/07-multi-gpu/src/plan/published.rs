//! The simulator and the planner against clusters that others have measured.

use super::{
    cards::{Card, NCCL, link},
    model::{self, Transformer},
    network::{Network, Route},
    search::{self, Question},
    simulate::{Buckets, Job, Layer},
    split::{Estimate, Split},
};
use crate::{Error, Result};
use backprop::{count::Model, fits::Moves};

/// A cluster and a model trained on more and more of it.
#[derive(Clone, Debug)]
pub struct Run {
    /// Who, in a word.
    pub by: &'static str,
    /// What was trained, in a word.
    pub model: &'static str,
    /// What 100% is: the rate of each card when there are so many.
    pub base: usize,
    /// Numbers of cards, and each one's rate as a fraction of that.
    pub points: Vec<(usize, f64)>,
    /// The cluster.
    pub network: Network,
    /// A step on one card's part of the batch, which is the same for any number of cards.
    pub job: Job,
}

impl Run {
    /// Each card's rate over `p` cards, as a fraction of that over [`Run::base`].
    pub fn predicted(&self, p: usize, jitter: f64) -> f64 {
        let job = Job { jitter, ..self.job.clone() };
        let step = |p: usize| job.step(&self.network, p).total;
        step(self.base) / step(p)
    }
}

/// Layers in which `seconds` of computing are spread as the operations are: a third forward, two thirds backward.
fn spread(layers: &[(f64, f64)], seconds: f64, bytes: f64) -> Vec<Layer> {
    let all: f64 = layers.iter().map(|l| l.1).sum();
    let layer = |&(parameters, operations): &(f64, f64)| Layer {
        forward: seconds / 3.0 * operations / all,
        backward: 2.0 * seconds / 3.0 * operations / all,
        bytes: parameters * bytes,
    };
    layers.iter().map(layer).collect()
}

/// The fraction of Ethernet's bits that are data: a packet of 1,024 bytes goes with 82 bytes of headers, preamble and
/// gap.
const ROCE: f64 = 1024.0 / 1106.0;

/// Horovod's own clock and buffer: 5 ms and 64 MiB (Sergeev and Del Balso 2018, and its documentation).
const HOROVOD: Buckets = Buckets::Every(5e-3, 64.0 * 1024.0 * 1024.0);

/// The cluster, which gradients travel together, and by which way.
type Way = (Network, Buckets, Route);

/// A row of the table of runs: by whom, the model, its layers and the seconds of a step; what 100% is, and the published
/// points; on what.
type Row<'r> = ([&'static str; 2], &'r [(f64, f64)], f64, usize, &'r [(usize, f64)], Way);

/// What two of Horovod's models keep on 128 and on 512 cards.
const FLAT: [(usize, f64); 2] = [(128, 0.90), (512, 0.90)];

/// The published runs.
///
/// # Errors
/// None that a user could cause.
pub fn runs() -> Result<Vec<Run>> {
    let [nvlink, pci, net] = NCCL;
    let cluster = |island, inside, bits: f64, sharing| Network {
        island,
        inside,
        between: link(net, bits / 8.0),
        sharing,
    };
    let vgg = Model::vgg16().count()?;
    let vgg: Vec<(f64, f64)> =
        vgg.rows.iter().map(|row| (row.parameters as f64, row.forward)).collect();
    let (fifty, hundred_one) = (model::residual([3, 4, 6, 3]), model::residual([3, 4, 23, 3]));
    // Szegedy et al. 2016: 23.8 million parameters; spread evenly over its 94 convolutions, for they are hidden anyway.
    let inception = vec![(23.8e6 / 94.0, 1.0); 94];

    // Sergeev and Del Balso 2018 and Horovod's documentation: servers of four P100, 25 Gbit/s RoCE for the four, PCI Express
    // 3.0 with 16 lanes, as NCCL counts it. Seconds of 64 images on one P100: TensorFlow's benchmarks of May 2017;
    // ResNet-101 lies between ResNet-50 and ResNet-152 (219 and 91.8 images/s) as its operations do (3.7 of 7.4 billion).
    let uber = (cluster(4, link(pci, 10e9), ROCE * 25e9, 4.0), HOROVOD, Route::Ring);
    let between = 1.0 / (0.5 / 219.0 + 0.5 / 91.8);

    // Goyal et al. 2017: servers of eight P100 with NVLink, 50 Gbit/s Ethernet for the eight, each layer's gradient as
    // soon as it is there, inside a server and then by halving and doubling, which has a tree's rounds. 90 epochs of
    // 1.28 million images took 29 hours on eight cards (NVIDIA's report of the paper), so 32 images take 0.23 s.
    let servers = cluster(8, link(nvlink, 80e9), ROCE * 50e9, 8.0);
    let servers = (servers, Buckets::Full(0.0), Route::Tree);
    let rate = 90.0 * 1.281e6 / (29.0 * 3600.0) / 8.0;

    // Tazi et al. 2025: eight H100 a server, 3,200 Gbit/s EFA for the eight, 40,150 tokens per second and card over
    // eight cards. The figure names neither the model nor the batch, but 36.66 GB of memory. Assumed: the 1.24 thousand
    // million parameters of Llama 3.2 1B (a table, and 16 blocks of attention and three products), gradients in f32,
    // PyTorch's buckets of 25 MiB; one sequence of 4,096 tokens: 20 bytes for each parameter, 4.6 GB for the blocks and
    // 6 GB for the scores fill that memory.
    let efa = cluster(8, link(nvlink, 450e9), 400e9, 1.0);
    let efa = (efa, Buckets::Full(25.0 * 1024.0 * 1024.0), Route::Ring);
    let mut llama = vec![(262.7e6, 0.0)];
    for _ in 0..16 {
        llama.extend([(10.5e6, 10.5), (16.8e6, 16.8), (16.8e6, 16.8), (16.8e6, 16.8)]);
    }
    llama.push((0.0, 262.7)); // the scores, with the table's weights
    let published = [(16, 0.9367), (32, 0.8809), (64, 0.7749), (128, 0.6587), (256, 0.3910)];

    let rows: [Row; 5] = [
        (["horovod", "resnet101"], &hundred_one, 64.0 / between, 1, &FLAT, uber),
        (["horovod", "inception3"], &inception, 64.0 / 142.0, 1, &FLAT, uber),
        (["horovod", "vgg16"], &vgg, 64.0 / 154.0, 1, &[(128, 0.79), (512, 0.68)], uber),
        (["goyal", "resnet50"], &fifty, 32.0 / rate, 8, &[(256, 0.90)], servers),
        (["playbook", "transformer-1b"], &llama, 4096.0 / 40_150.0, 8, &published, efa),
    ];
    let run = |([by, model], layers, seconds, base, points, (network, buckets, route)): Row| {
        let (layers, route) = (spread(layers, seconds, 4.0), Some(route));
        let job = Job { layers, buckets, route, update: 0.0, jitter: 0.0 };
        Run { by, model, base, points: points.to_vec(), network, job }
    };
    Ok(rows.into_iter().map(run).collect())
}

/// The one free number: how much the cards' times differ, so that the first run's last point comes out as published.
pub fn calibrated(runs: &[Run]) -> f64 {
    let Some((run, &(p, wanted))) = runs.first().and_then(|r| Some((r, r.points.last()?))) else {
        return 0.0;
    };
    let (mut low, mut high) = (0.0, 0.2);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if run.predicted(p, middle) > wanted { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Rows of Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM",
/// table 1: layers, width, heads, tensor and pipeline parallel cards, all cards, sequences of a step, TFLOP/s of a
/// card.
pub const MEGATRON: [[u32; 8]; 10] = [
    [24, 2304, 24, 1, 1, 32, 512, 137],
    [30, 3072, 32, 2, 1, 64, 512, 138],
    [36, 4096, 32, 4, 1, 128, 512, 142],
    [40, 6144, 48, 8, 1, 256, 1024, 135],
    [48, 8192, 64, 8, 2, 512, 1536, 138],
    [60, 10_240, 80, 8, 4, 1024, 1792, 140],
    [80, 12_288, 96, 8, 8, 1536, 2304, 148],
    [96, 16_384, 128, 8, 16, 1920, 2160, 155],
    [105, 20_480, 128, 8, 35, 2520, 2520, 163],
    [128, 25_600, 160, 8, 64, 3072, 3072, 163],
];

/// The planner's estimate for a row of [`MEGATRON`] with the number of micro-batches that suits it best, and each
/// card's operations per second, those that are done again among them, as the table counts them.
///
/// # Errors
/// None for the table's rows.
pub fn megatron(row: &[u32; 8]) -> Result<(Estimate, f64)> {
    let [layers, width, heads, tensor, pipeline, cards, batch, _] = *row;
    let transformer = Transformer { layers, width, heads, sequence: 2048, vocabulary: 51_200 };
    let work = transformer.workload("gpt", Moves::Adam)?;
    let operations = work.operations() / 3.0 * 4.0 * f64::from(batch);
    let (tensor, pipeline, cards) = (tensor as usize, pipeline as usize, cards as usize);
    let data = cards / tensor / pipeline;
    let question = Question { work, card: Card::named("a100")?, cards, batch: batch as usize };
    let share = question.batch / data;
    let pieces = (1..=share).filter(|m| share.is_multiple_of(*m));
    let cut = Split { data, pipeline, tensor, recompute: true, ..Split::ONE };
    let found = pieces.map(|micro_batches| search::one(&question, Split { micro_batches, ..cut }));
    let found: Vec<Estimate> = found.collect::<Result<_>>()?;
    let fits = |e: &&Estimate| e.memory.total() <= question.card.memory;
    let fastest = |x: &&Estimate, y: &&Estimate| x.terms.total().total_cmp(&y.terms.total());
    let best = found.iter().filter(fits).min_by(fastest);
    let best = best.or_else(|| found.iter().min_by(fastest)).copied();
    let best = best.ok_or_else(|| Error::Config("the batch has no parts".to_owned()))?;
    Ok((best, operations / cards as f64 / best.terms.total()))
}
