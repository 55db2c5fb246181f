//! The list of operations against the model in plain loops and its finite differences.

use crate::talker::far as model;
use backprop::check::{differences_by, error};
use engine::{
    backend::Form,
    program::ledger,
    record::Pass,
    state::WORDS,
    step::{Step, program},
    tensor::Place,
};
use engine_gpu::cast::FORM;
use lab::random::SplitMix64;
use language_model::{
    Config, Layout, Model,
    count::{Operations, Parameters},
    product::Numbers,
    reference,
    train::{Settings, Trainer, batches},
    transformer::{Transformer, bytes, needs, operations},
};

/// Tokens and their targets.
fn batch_of(config: &Config, rows: usize, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut random = SplitMix64::new(seed);
    let mut row = || (0..rows).map(|_| random.below(config.vocabulary) as u32).collect();
    (row(), row())
}

/// The usual run on so many sequences of a whole context at a time.
fn settings(config: &Config, batch: usize) -> Settings {
    Settings { batch, length: config.context, ..Settings::default() }
}

/// A model that learns so.
fn transformer(model: &Model, sequences: usize, threads: usize) -> Transformer {
    Transformer::new(model, &settings(&model.config, sequences), threads).unwrap()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

const SIZES: [Config; 3] = [
    Config { vocabulary: 11, context: 9, width: 12, heads: 3, layers: 2, hidden: 5 },
    Config { vocabulary: 5, context: 3, width: 2, heads: 1, layers: 1, hidden: 1 },
    Config { vocabulary: 17, context: 20, width: 36, heads: 2, layers: 3, hidden: 40 },
];

#[test]
fn scores_are_those_of_the_plain_loops() {
    for config in SIZES {
        let model = model(config);
        for length in [1, config.context] {
            let (tokens, _) = batch_of(&config, length, 1);
            let wanted = reference::scores(&config, &wide(&model.parameters), &tokens).concat();
            let found = model.logits(&tokens).unwrap();
            assert!(error(&wide(&found), &wanted) < 1e-5, "{config:?}");
        }
    }
}

#[test]
fn weights_of_attention_sum_to_one_up_to_the_token_itself() {
    for config in SIZES {
        let length = config.context;
        let (tokens, _) = batch_of(&config, length, 1);
        let weights = reference::weights(&config, &wide(&model(config).parameters), &tokens);
        assert_eq!(weights.len(), config.layers * config.heads * length);
        for (at, row) in weights.iter().enumerate() {
            assert_eq!(row.len(), at % length + 1);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn a_later_token_changes_no_earlier_score() {
    let model = model(SIZES[0]);
    let (mut tokens, _) = batch_of(&SIZES[0], 9, 1);
    let before = model.logits(&tokens).unwrap();
    tokens[6] = (tokens[6] + 1) % 11;
    let after = model.logits(&tokens).unwrap();
    assert_eq!(before[..6 * 11], after[..6 * 11]);
    assert_ne!(before[6 * 11..], after[6 * 11..]);
}

/// Of all values of a small tensor; of a large one, some. For a hundred steps, where they take little time.
#[test]
fn gradients_are_finite_differences_of_the_plain_loops_and_stay_so() {
    for (config, batch, length, steps) in [
        (SIZES[0], 3, 9, 1),
        (SIZES[1], 3, 3, 1),
        (SIZES[2], 3, 20, 1),
        (Config { vocabulary: 7, context: 5, width: 4, heads: 2, layers: 2, hidden: 3 }, 3, 4, 100),
        (Config { vocabulary: 5, context: 3, width: 6, heads: 1, layers: 1, hidden: 1 }, 1, 3, 100),
    ] {
        let stream: Vec<u32> = batch_of(&config, 90, 3).0;
        let usual = Settings { steps: 100, warmup: 5, lr: 0.02, ..Settings::default() };
        let settings = Settings { batch, length, ..usual };
        let mut trainer = Trainer::new(model(config), settings, &stream, 2).unwrap();
        let (mut tokens, mut targets) = (vec![0; batch * length], vec![0; batch * length]);
        let mut random = SplitMix64::new(7);
        for step in 0..steps {
            let p = wide(&trainer.model().parameters);
            batches::draw(&stream, (0, step), length, &mut tokens, &mut targets).unwrap();
            let loss = |p: &[f64]| {
                let pairs = tokens.chunks(length).zip(targets.chunks(length));
                let each = pairs.map(|(x, y)| reference::loss(&config, p, x, y));
                each.sum::<f64>() / batch as f64
            };
            let found = trainer.step(&stream).unwrap().loss;
            assert!((found - loss(&p)).abs() < 1e-5, "{found}");
            let (gradient, mut all) = (trainer.gradient(), [vec![], vec![]]);
            for (name, range, _) in Layout::new(&config).tensors(&config) {
                let some = random.order(range.len()).into_iter().take(40);
                let at: Vec<usize> = some.map(|i| range.start + i).collect();
                let values: Vec<f64> = at.iter().map(|&i| p[i]).collect();
                let wanted = differences_by(1e-5, &values, |values| {
                    let mut moved = p.clone();
                    at.iter().zip(values).for_each(|(&i, value)| moved[i] = *value);
                    loss(&moved)
                });
                let found: Vec<f64> = at.iter().map(|&i| f64::from(gradient[i])).collect();
                let off = error(&found, &wanted);
                assert!(off < 1e-4, "{name} of {config:?}, step {step}: {off}");
                all.iter_mut().zip([found, wanted]).for_each(|(all, own)| all.extend(own));
            }
            let off = error(&all[0], &all[1]);
            assert!(off < 1e-5, "{config:?}, step {step}: {off}");
        }
    }
}

/// In pieces of three sequences and of two.
#[test]
fn the_same_bits_for_any_number_of_threads_and_again_in_the_same_buffers() {
    let config =
        Config { vocabulary: 300, context: 140, width: 64, heads: 4, layers: 2, hidden: 96 };
    let model = model(config);
    let (tokens, targets) = batch_of(&config, 5 * 140, 3);
    let run = |threads| {
        let mut fast = transformer(&model, 5, threads);
        let mut of = || fast.gradient(&tokens, &targets).unwrap();
        let losses = [of(), of()];
        let gradient = fast.step.to_file(Place::Gradient);
        fast.step.update(1e-3);
        (losses, gradient, fast.step.to_file(Place::Params))
    };
    let one = run(1);
    let [first, again] = one.0;
    assert!(first.to_bits() == again.to_bits());
    let read = model.loss(&tokens, &targets, 5).unwrap();
    assert!((first / read - 1.0).abs() < 1e-6, "{first} {read}");
    for threads in [2, 3, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn products_of_bf16_are_near_those_of_f32() {
    let config = Config { vocabulary: 50, context: 24, width: 32, heads: 2, layers: 2, hidden: 40 };
    let model = Model::new(config, 5).unwrap();
    let (tokens, targets) = batch_of(&config, 3 * 24, 3);
    let [exact, rounded] = [Numbers::F32, Numbers::Bf16].map(|numbers| {
        let settings = Settings { numbers, ..settings(&config, 3) };
        let mut fast = Transformer::new(&model, &settings, 2).unwrap();
        fast.gradient(&tokens, &targets).unwrap();
        wide(&fast.step.to_file(Place::Gradient))
    });
    let off = error(&rounded, &exact);
    assert!(off > 1e-5 && off < 0.03, "{off}");
}

/// Tensors lie in the order of the layout and bear its names, so that a file is both.
#[test]
fn the_engines_tensors_are_the_layouts() {
    let model = model(SIZES[0]);
    let fast = transformer(&model, 1, 1);
    let engines = fast.step.model.params.tensors.iter();
    let engines = engines.map(|named| (named.name.clone(), named.tensor.words()));
    let layouts = Layout::new(&model.config).tensors(&model.config).into_iter();
    assert!(engines.eq(layouts.map(|(name, range, _)| (name, range.len()))));
    assert!(fast.step.to_file(Place::Params) == model.parameters);
}

/// So that a forgotten copy or another pass over the rows fails here, on the cores and on a GPU. It takes no device.
#[test]
fn the_ledger_of_a_step_is_what_its_page_counts() {
    let config = Config { vocabulary: 40, context: 20, width: 12, heads: 3, layers: 2, hidden: 10 };
    let Config { vocabulary, width: d, heads, layers, hidden, .. } = config;
    let (rows, norms, model) = (4 * config.context, 2 * layers + 1, operations(&config, 20));
    let pass = Pass { rows, training: true, numbers: Numbers::F32, adds: false };
    // A product of rows with a matrix: itself, and two in the backward pass, with the same three operands.
    let matrix = |k: usize, n: usize| 3 * (rows * (k + n) + k * n);
    let layer = [(d, 3 * d), (d, d), (d, 2 * hidden), (hidden, d)].map(|(k, n)| matrix(k, n));
    let products = layers * layer.iter().sum::<usize>() + matrix(d, vocabulary);
    let table = vocabulary * d;
    // A GPU has more parts of the rows, keeps a norm's factors and what attention sums along, and copies no head.
    for (form, blocks, copies, more) in [(Form::CPU, 16, 1, 0), (FORM, 40, 0, rows)] {
        let calls = program(&model, pass, form).calls;
        let entries = ledger(&calls);
        let of = |name: &str| {
            let all = entries.iter().filter(|entry| entry.name == name);
            all.fold((0, 0, 0.0), |(calls, bytes, flops), entry| {
                (calls + entry.calls, bytes + entry.bytes, flops + entry.flops)
            })
        };
        for (name, count, words) in [
            ("product", 12 * layers + 3, products),
            ("norm", 2 * norms, norms * (5 * rows * d + 2 * d + blocks * d + 2 * more)),
            ("turn", copies * 2 * layers, copies * layers * 2 * rows * 6 * d),
            ("attend", 2 * layers, layers * (rows * (12 * d + 2 * heads) + more * heads)),
            ("join", copies * layers, copies * layers * rows * 2 * d),
            ("split", copies * layers, copies * layers * rows * 2 * d),
            ("gate", 2 * layers, layers * rows * (3 * hidden + 6 * hidden)),
            ("add", 4 * layers, 4 * layers * rows * 3 * d),
            ("look up", 1, rows + table + rows * d),
            ("add up", 1, rows + rows * d + table),
            ("loss", 1, 2 * rows * vocabulary + rows + WORDS + 2 * blocks),
            ("sum", norms, norms * (blocks * d + d)),
        ] {
            let (calls, bytes, _) = of(name);
            assert_eq!((calls, bytes), (count, 4 * words), "{name}, {form:?}");
        }
        assert_eq!(calls.len(), (26 + 4 * copies) * layers + 9);
        let (counted, rows) = (Operations::of(&config, config.context), rows as f64);
        let near =
            |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-9, "{found}");
        near(of("product").2, 3.0 * counted.weights * rows);
        // Five products in the place of four, since scores are computed once more; and queries and keys are turned, and back.
        let turned = 12.0 * rows * (layers * d) as f64;
        near(of("attend").2 + of("turn").2, 3.5 * counted.attention * rows + turned);
    }
    assert!(Parameters::of(&config).all() as usize == model.params.learned());
}

/// A batch goes through the model piece by piece: its length costs no memory. In segments a piece needs less, and no bit changes.
/// What is asked for before the first step is what the buffers then have.
#[test]
fn memory_is_that_of_a_piece_or_of_a_segment() {
    let config = Config::tiny();
    let model = Model::new(config, 1).unwrap();
    let of = |sequences: usize, recompute| {
        let (tokens, targets) = batch_of(&config, sequences * config.context, 3);
        let settings = Settings { recompute, ..settings(&config, sequences) };
        let mut fast = Transformer::new(&model, &settings, 1).unwrap();
        let loss = fast.gradient(&tokens, &targets).unwrap();
        let Step { device, .. } = &fast.step;
        let lasting: usize = Place::LASTING.map(|place| device.bytes(place)).iter().sum();
        let found = bytes(&fast.step) + lasting;
        assert_eq!(needs(&config, &settings, 1).total(), found as u64, "{settings:?}");
        (bytes(&fast.step), (loss, fast.step.to_file(Place::Gradient)))
    };
    let ((piece, whole), (batch, _)) = (of(4, None), of(13, None));
    for (segments, part) in [(3, 0.75), (5, 0.6), (99, 0.6)] {
        let (less, cut) = of(4, Some(segments));
        assert!(cut == whole, "{segments}");
        assert!((less as f64) < part * piece as f64, "{segments}: {less} of {piece}");
    }
    let counted = language_model::count::Bytes::of(&config, 4, config.context);
    let kept = (counted.activations + counted.group) as f64;
    assert_eq!(piece, batch);
    // The formula counts what can't be computed once more.
    assert!((1.0..1.35).contains(&(piece as f64 / kept)), "{piece}, {kept}");
}
