//! The fast passes against the model in plain loops and its finite differences.

use backprop::check::{differences_by, error};
use lab::random::SplitMix64;
use language_model::{Config, Model, passes::Passes, reference};

/// A small model whose parameters are far from their quiet beginnings.
fn model(config: Config) -> Model {
    let mut model = Model::new(config, 5).unwrap();
    let mut random = SplitMix64::new(9);
    for p in &mut model.parameters {
        *p += 0.3 * random.normal() as f32;
    }
    model
}

/// Tokens and their targets.
fn batch(config: &Config, rows: usize, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut random = SplitMix64::new(seed);
    let mut row = || (0..rows).map(|_| random.below(config.vocabulary) as u32).collect();
    (row(), row())
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

const SIZES: [Config; 3] = [
    Config { vocabulary: 11, context: 9, width: 12, heads: 3, layers: 2, hidden: 5 },
    Config { vocabulary: 5, context: 3, width: 2, heads: 1, layers: 1, hidden: 1 },
    Config { vocabulary: 17, context: 20, width: 16, heads: 2, layers: 3, hidden: 24 },
];

#[test]
fn scores_are_those_of_the_plain_loops() {
    for config in SIZES {
        let model = model(config);
        for length in [1, config.context] {
            let (tokens, _) = batch(&config, length, 1);
            let wanted = reference::scores(&config, &wide(&model.parameters), &tokens).concat();
            let found = model.logits(&tokens).unwrap();
            assert!(error(&wide(&found), &wanted) < 1e-5, "{config:?}");
        }
    }
}

#[test]
fn a_later_token_changes_no_earlier_score() {
    let model = model(SIZES[0]);
    let (mut tokens, _) = batch(&SIZES[0], 9, 1);
    let before = model.logits(&tokens).unwrap();
    tokens[6] = (tokens[6] + 1) % 11;
    let after = model.logits(&tokens).unwrap();
    assert_eq!(before[..6 * 11], after[..6 * 11]);
    assert_ne!(before[6 * 11..], after[6 * 11..]);
}

#[test]
fn gradients_are_finite_differences_of_the_plain_loops() {
    for config in SIZES {
        let (model, sequences) = (model(config), 3);
        let (tokens, targets) = batch(&config, sequences * config.context, 2);
        let loss = |p: &[f64]| {
            let pairs = tokens.chunks(config.context).zip(targets.chunks(config.context));
            let each = pairs.map(|(tokens, targets)| reference::loss(&config, p, tokens, targets));
            each.sum::<f64>() / sequences as f64
        };
        let p = wide(&model.parameters);
        let mut gradient = vec![f32::NAN; model.layout.len];
        let mut passes = Passes::new(config, sequences, config.context, 2).unwrap();
        let found = passes.gradient(&model, (&tokens, &targets), &mut gradient, false).unwrap();
        assert!((found - loss(&p)).abs() < 1e-5, "{found}");
        let mut random = SplitMix64::new(7);
        for (name, range, _) in model.layout.tensors(&config) {
            // All values of a small tensor; of a large one, some.
            let some = random.order(range.len()).into_iter().take(40);
            let at: Vec<usize> = some.map(|i| range.start + i).collect();
            let values: Vec<f64> = at.iter().map(|&i| p[i]).collect();
            let wanted = differences_by(1e-5, &values, |values| {
                let mut moved = p.clone();
                at.iter().zip(values).for_each(|(&i, value)| moved[i] = *value);
                loss(&moved)
            });
            let found: Vec<f32> = at.iter().map(|&i| gradient[i]).collect();
            let off = error(&wide(&found), &wanted);
            assert!(off < 1e-4, "{name} of {config:?}: {off}");
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_again_in_the_same_buffers() {
    let config =
        Config { vocabulary: 300, context: 140, width: 64, heads: 4, layers: 2, hidden: 96 };
    let model = model(config);
    let (tokens, targets) = batch(&config, 5 * 140, 3);
    let run = |threads| {
        let mut passes = Passes::new(config, 5, 140, threads).unwrap();
        let mut gradient = vec![f32::NAN; model.layout.len];
        let mut losses = Vec::new();
        for _ in 0..2 {
            let batch = (&tokens[..], &targets[..]);
            losses.push(passes.gradient(&model, batch, &mut gradient, false).unwrap());
        }
        losses.push(passes.loss(&model, &tokens, &targets).unwrap());
        (losses, gradient)
    };
    let (losses, gradient) = run(1);
    assert!(losses.iter().all(|loss| *loss == losses[0]), "{losses:?}");
    assert_eq!(losses[0], model.loss(&tokens, &targets, 5).unwrap());
    for threads in [2, 3, 7] {
        assert!(run(threads) == (losses.clone(), gradient.clone()), "{threads} threads");
    }
}
