use super::job::batches;
use backprop::{adam::Adam, sgd::Sgd};
use engine::{
    model::Model,
    params::Params,
    rule::{self, Update},
    tensor::Place,
};
use multi_gpu::split::equality::{Strategy, against_one, example, largest, split};
use multi_gpu::split::job::{Batch, Job, Network, Rule, Shared};
use multi_gpu::split::stage::Of;
use multi_gpu::{
    Result,
    split::hybrid::{Grid, Member},
    split::schedule::Schedule,
    split::zero::Level,
    threads,
};

const RULES: [Rule; 2] = [
    Rule::Sgd(Sgd { lr: 0.1, momentum: 0.9 }),
    Rule::Adam(Adam { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8 }),
];

fn job(sizes: &[usize], rule: Rule) -> Job {
    Job { network: Network::Dense(sizes.to_vec()), seed: 3, rule }
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
    let [a, b] = Schedule::ALL.map(|s| split(Strategy::Pipeline(s, 6), 4, &job, &batches).unwrap());
    assert_eq!(a, b);
}

#[test]
fn split_products_are_one_device() {
    // Up to a hidden unit for each rank.
    equal(&[Strategy::Tensor], &[2, 3, 4, 9], &[&[23]], 1e-5);
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

/// Twenty steps of SGD on images of digits' size, of another model than dense layers.
#[track_caller]
fn equal_of(network: Network, ways: &[(Strategy, usize)], rows: &[usize], steps: usize) {
    let (job, batches) = (Job { network, seed: 3, rule: RULES[0] }, batches(784, 10, rows, steps));
    for (way, ranks) in ways {
        let found = against_one(*way, *ranks, &job, &batches).unwrap();
        let near = found.parameters <= 1e-5 && found.losses <= 1e-5;
        assert!(near, "{:?}, {} on {ranks}: {found:?}", job.network, way.name());
    }
}

#[test]
fn every_model_is_split_like_dense_layers() {
    let [gpipe, one] = Schedule::ALL.map(|schedule| Strategy::Pipeline(schedule, 3));
    let zero = Level::ALL.map(|level| (Strategy::Zero(level), 3));
    let others = [(Strategy::Data, 2), (Strategy::Overlap(1 << 12), 3), (gpipe, 2), (one, 2)];
    let ways = [&zero[1..], &others].concat();
    // Dropout leaves out what it does on one device, whoever has the image.
    equal_of(Network::Cnn(0.5), &ways, &[7, 2], 4);
    equal_of(Network::Rnn, &ways, &[7], 3);
    equal_of(Network::Transformer, &ways, &[7], 3);
    let cube = Grid { data: 2, stages: 2, tensor: 2 };
    let cut = [(Strategy::Tensor, 2), (Strategy::Tensor, 4), (Strategy::Hybrid(cube, 2), 8)];
    equal_of(Network::Transformer, &cut, &[7], 3);
}

#[test]
fn any_list_of_operations_on_ranks_of_their_own_is_one_device_bit_for_bit() {
    for network in [Network::Cnn(0.5), Network::Resnet, Network::Rnn, Network::Transformer] {
        let (job, batches) = (Job { network, seed: 3, rule: RULES[0] }, batches(784, 10, &[7], 2));
        let ranks = if job.network == Network::Rnn { 2 } else { 3 };
        let found = against_one(Strategy::Layers, ranks, &job, &batches).unwrap();
        assert_eq!(found.parameters, 0.0, "{:?}", job.network);
    }
}

/// A network whose rule spares some tensors by their places: biases do not shrink.
struct Sparing(Job);

impl Shared for Sparing {
    fn cut(&self, stages: usize, of: Of) -> Result<(Model, Vec<usize>)> {
        self.0.cut(stages, of)
    }

    fn rule(&self, params: &Params) -> rule::Rule {
        let biases = params.tensors.iter().filter(|named| named.name.ends_with("bias"));
        let spared: Vec<_> = biases
            .map(|named| named.tensor.start..named.tensor.start + named.tensor.words())
            .collect();
        let code = move |Update { first, clip, p, g, .. }: Update| {
            for (at, (p, g)) in p.iter_mut().zip(g).enumerate() {
                let is_bias = spared.iter().any(|bias| bias.contains(&(first + at)));
                *p -= 0.1 * (clip * *g + if is_bias { 0.0 } else { 0.3 * *p });
            }
        };
        rule::Rule::new(code, None)
    }
}

/// The ways to cut a network, and how many ranks each takes.
fn cuts() -> Vec<(Strategy, usize)> {
    let cube = Grid { data: 2, stages: 2, tensor: 2 };
    let zero = Level::ALL.map(|level| (Strategy::Zero(level), 3));
    let others = [(Strategy::Layers, 2), (Strategy::Tensor, 2), (Strategy::Hybrid(cube, 2), 8)];
    [&zero[..], &others, &[(Strategy::Overlap(400), 3)]].concat()
}

#[test]
fn a_rule_that_spares_tensors_by_place_spares_the_same_ones_on_every_rank() {
    for network in [Network::Dense(vec![784, 17, 11, 9, 10]), Network::Transformer] {
        let job = Sparing(Job { network, seed: 3, rule: RULES[0] });
        let batches = batches(784, 10, &[7], 3);
        let trained = |(way, ranks): (Strategy, usize)| {
            let all = threads::run(ranks, |comm| {
                let mut member = Member::new(&job, way.settings(ranks), comm)?;
                batches.iter().try_for_each(|batch| member.step(batch).map(|_| ()))?;
                member.parameters()
            });
            all.unwrap().swap_remove(0)
        };
        let one = trained((Strategy::Data, 1));
        for (way, ranks) in cuts() {
            let far = largest(&trained((way, ranks)), &one);
            assert!(far < 1e-5, "{:?}, {} on {ranks}: {far}", job.0.network, way.name());
        }
    }
}

#[test]
fn the_norm_is_that_of_the_whole_gradient_on_every_rank_and_shortens_it() {
    for network in [Network::Dense(vec![784, 17, 11, 9, 10]), Network::Transformer] {
        let job = Job { network, seed: 3, rule: RULES[0] };
        let batch = &batches(784, 10, &[7], 1)[0];
        let found = |(way, ranks): (Strategy, usize)| {
            let all = threads::run(ranks, |comm| {
                let mut member = Member::new(&job, way.settings(ranks), comm)?;
                member.gradient(&batch.x, &batch.words())?;
                let norm = member.clip(0.1)?;
                member.update(0.0)?;
                Ok((norm, member.parameters()?))
            });
            all.unwrap()
        };
        let (norm, one) = found((Strategy::Data, 1)).swap_remove(0);
        for (way, ranks) in cuts() {
            for (found, parameters) in found((way, ranks)) {
                let far = (found / norm - 1.0).abs();
                assert!(far < 1e-5, "{:?}, {} on {ranks}: {far}", job.network, way.name());
                assert!(largest(&parameters, &one) < 1e-5, "{}", way.name());
            }
        }
    }
}

#[test]
fn what_batch_normalisations_keep_is_the_mean_of_the_replicas() {
    let job = Job { network: Network::Resnet, seed: 3, rule: RULES[0] };
    let batch = &batches(784, 10, &[7], 1)[0];
    let kept = |(ranks, rows): (usize, std::ops::Range<usize>)| {
        let all = threads::run(ranks, |comm| {
            let mut member = Member::new(&job, Strategy::Data.settings(ranks), comm)?;
            member.step(&batch.part(rows.clone())?)?;
            Ok(member.step.all(Place::Kept).to_vec())
        });
        all.unwrap()
    };
    let [both, one, other] = [(2, 0..7), (1, 0..4), (1, 4..7)].map(kept);
    assert_eq!(both[0], both[1]);
    let mean: Vec<f32> =
        one[0].iter().zip(&other[0]).map(|(a, b)| (4.0 * a + 3.0 * b) / 7.0).collect();
    assert!(largest(&both[0], &mean) < 1e-6);
}

#[test]
fn what_cannot_be_split_is_refused() {
    let (job, batches) = (job(&[13, 17, 5], RULES[0]), batches(13, 5, &[6], 1));
    let refused = |way, ranks| split(way, ranks, &job, &batches).unwrap_err().to_string();
    assert!(refused(Strategy::Layers, 3).contains("2 layers can't be put on 3 devices"));
    assert!(refused(Strategy::Pipeline(Schedule::Gpipe, 0), 2).contains("one at least"));
    assert!(refused(Strategy::Data, 0).contains("one at least"));
    assert!(refused(Strategy::Tensor, 18).contains("17 hidden units can't be cut over 18 ranks"));
    let of = |network, way, ranks| {
        let job = Job { network, ..job.clone() };
        split(way, ranks, &job, &[]).unwrap_err().to_string()
    };
    assert!(of(Network::Transformer, Strategy::Tensor, 3).contains("4 heads"));
    assert!(of(Network::Rnn, Strategy::Tensor, 2).contains("are not cut over 2 ranks"));
    assert!(of(Network::Dense(vec![4]), Strategy::Data, 2).contains("is no network"));
    let wrong =
        [Batch { x: vec![0.0; 12], labels: vec![0] }, Batch { x: vec![0.0; 13], labels: vec![5] }];
    for batch in wrong {
        let error = split(Strategy::Data, 2, &job, &[batch]).unwrap_err().to_string();
        assert!(error.contains("no batch of this network"), "{error}");
    }
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
