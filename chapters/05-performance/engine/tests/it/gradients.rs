//! Loss and gradients of every operation against the definition in f64 and its central differences.

use crate::definition::{Definition, Values};
use engine::{
    cpu::Ways,
    model::Model,
    ops::{
        Op, attention::Attention, batch_norm::BatchNorm, conv::Conv, dense::Dense, mean::MeanPool,
        norm::Norm, pool::ReluPool, relu::Relu, residual::Residual,
    },
    params::Params,
    philox::Dropout,
    program::Numbers,
    state,
    step::{Step, adam},
};

const BATCH: usize = 6;

/// [`check_batch`] of a definition that sees one image at a time.
fn check(model: Model, definition: impl Fn(&Definition, &[f64]) -> Vec<f64>) {
    check_batch(model, BATCH, |values, batch| {
        let rows = batch.iter().enumerate();
        rows.map(|(row, x)| definition(&Definition { values, row }, x)).collect()
    });
}

/// Compares a step's loss with the definition's, and every tensor's gradient at some places with its slope.
fn check_batch(
    model: Model,
    size: usize,
    definition: impl Fn(&Values, &[Vec<f64>]) -> Vec<Vec<f64>>,
) {
    let inputs = model.inputs;
    let pixels: Vec<f32> =
        (0..size * inputs).map(|i| (i * 97 + i / 7 * 31) as u8 as f32 / 255.0).collect();
    let labels: Vec<u32> = (0..size as u32).map(|i| i * 7 % 10).collect();
    let tensors = model.params.tensors.clone();
    let tensors = || tensors.iter().filter(|t| t.tensor.place == engine::tensor::Place::Params);
    let mut values: Values = tensors()
        .map(|named| {
            let values = &model.params.values[named.tensor.start..][..named.tensor.words()];
            (named.name.clone(), values.iter().map(|v| f64::from(*v)).collect())
        })
        .collect();
    let mut step = Step::new(model, 2, Ways::default(), 1, adam);
    let (to, truth) = step.batch(size);
    to.copy_from_slice(&pixels);
    truth.copy_from_slice(&labels);
    step.gradient(size, Numbers::F32);

    let loss = |values: &Values| {
        let images = pixels.chunks_exact(inputs);
        let batch: Vec<Vec<f64>> =
            images.map(|image| image.iter().map(|p| f64::from(*p)).collect()).collect();
        let losses = definition(values, &batch).into_iter().zip(&labels).map(|(scores, label)| {
            let sum: f64 = scores.iter().map(|score| score.exp()).sum();
            sum.ln() - scores[*label as usize]
        });
        losses.sum::<f64>() / size as f64
    };
    let found = f64::from(step.metrics(size, Numbers::F32)[0]) / size as f64;
    let wanted = loss(&values);
    assert!((found / wanted - 1.0).abs() < 1e-5, "loss {found}, by definition {wanted}");
    for named in tensors() {
        let (name, tensor) = (&named.name, named.tensor);
        let gradient = step.cpu.slice_mut(tensor.gradient()).to_vec();
        let length = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        for at in (0..tensor.words()).step_by(tensor.words().div_ceil(9)) {
            let mut slope = |by: f64| {
                values.get_mut(name).unwrap()[at] += by;
                let loss = loss(&values);
                values.get_mut(name).unwrap()[at] -= by;
                loss
            };
            let wanted = (slope(1e-6) - slope(-1e-6)) / 2e-6;
            let error = (f64::from(gradient[at]) - wanted).abs() / length;
            assert!(error < 1e-5, "{name}[{at}]: {}, by definition {wanted}", gradient[at]);
        }
    }
}

fn model(inputs: usize, ops: impl FnOnce(&mut Params) -> Vec<Box<dyn Op>>) -> Model {
    Model::new(5, inputs, ops)
}

#[test]
fn dense_relu_dropout_and_shared_weights() {
    let net = model(24, |p| {
        let one = Dense::new(p, "one", 24, 16).relu_dropout(0.3);
        let two = Dense::new(p, "two", 16, 16).relu();
        vec![
            Box::new(one),
            Box::new(two.clone()),
            Box::new(two),
            Box::new(Dense::new(p, "three", 16, 10)),
        ]
    });
    let mut begin = vec![0.0; 8];
    begin[state::SEED] = f32::from_bits(1);
    check(net, |d, x| {
        let mut mask = vec![1.0; 16];
        Dropout::new(0.3, 0).apply(&begin, d.row * 16, &mut mask);
        let kept: Vec<f64> =
            d.relu_dense("one", x).iter().zip(mask).map(|(y, m)| y * f64::from(m)).collect();
        let y = d.relu_dense("two", &kept);
        let y = d.relu_dense("two", &y);
        d.dense("three", &y)
    });
}

#[test]
fn convolutions_and_pools() {
    let net = model(64, |p| {
        vec![
            Box::new(Conv::new(p, "one", [8, 8, 1], 8, [5, 2])),
            Box::new(ReluPool::new("pool", 8, 8)),
            Box::new(Conv::new(p, "two", [4, 4, 8], 24, [3, 0])),
            Box::new(ReluPool::new("pool", 2, 24)),
            Box::new(Dense::new(p, "three", 24, 10)),
        ]
    });
    check(net, |d, x| {
        let x = d.conv("one", x, [8, 8, 1], [5, 2]);
        let x = d.pool(&x, 8, 8);
        let x = d.conv("two", &x, [4, 4, 8], [3, 0]);
        let x = d.pool(&x, 2, 24);
        d.dense("three", &x)
    });
}

#[test]
fn norm_attention_and_residual() {
    let net = model(24, |p| {
        vec![
            Box::new(Dense::new(p, "embed", 6, 16)),
            Box::new(Residual(vec![
                Box::new(Norm::new(p, "norm1", 16)),
                Box::new(Dense::new(p, "qkv", 16, 48)),
                Box::new(Attention { tokens: 4, heads: 2, head: 8 }),
                Box::new(Dense::new(p, "merge", 16, 16)),
            ])),
            Box::new(Residual(vec![
                Box::new(Norm::new(p, "norm2", 16)),
                Box::new(Dense::new(p, "wide", 16, 24).relu()),
                Box::new(Dense::new(p, "narrow", 24, 16)),
            ])),
            Box::new(Dense::new(p, "scores", 64, 10)),
        ]
    });
    check(net, |d, x| {
        let sum = |x: Vec<f64>, y: Vec<f64>| x.iter().zip(y).map(|(x, y)| x + y).collect();
        let x = d.tokens("embed", x, 6);
        let y = d.tokens("qkv", &d.norm("norm1", &x, 16), 16);
        let y = d.tokens("merge", &d.attention(&y, [4, 2, 8]), 16);
        let x: Vec<f64> = sum(x, y);
        let y = d.tokens("wide", &d.norm("norm2", &x, 16), 16);
        let y: Vec<f64> = y.iter().map(|y| y.max(0.0)).collect();
        let x: Vec<f64> = sum(x, d.tokens("narrow", &y, 24));
        d.dense("scores", &x)
    });
}

/// With batches that are not cut into equal blocks, and of one image alone.
#[test]
fn batch_norms_and_means() {
    for size in [1, 6, 35] {
        let net = model(64, |p| {
            vec![
                Box::new(Conv::bare(p, "stem", [8, 8, 1], 8, 3)),
                Box::new(BatchNorm::new(p, "stem.norm", 8).relu_pool(8)),
                Box::new(Residual(vec![
                    Box::new(Conv::bare(p, "first", [4, 4, 8], 8, 3)),
                    Box::new(BatchNorm::new(p, "first.norm", 8).relu()),
                    Box::new(Conv::bare(p, "second", [4, 4, 8], 8, 3)),
                    Box::new(BatchNorm::new(p, "second.norm", 8)),
                ])),
                Box::new(Relu),
                Box::new(Conv::bare(p, "grow", [4, 4, 8], 24, 1)),
                Box::new(MeanPool { channels: 24 }),
                Box::new(Dense::new(p, "dense", 24, 10)),
            ]
        });
        let relu = |x: &Vec<f64>| -> Vec<f64> { x.iter().map(|x| x.max(0.0)).collect() };
        check_batch(net, size, |values, batch| {
            let d = Definition { values, row: 0 };
            let conv = |name: &str, x: &[Vec<f64>], [side, ci, k]: [usize; 3]| -> Vec<_> {
                x.iter().map(|x| d.bare_conv(name, x, [side, side, ci], k)).collect()
            };
            let x = d.batch_norm("stem.norm", &conv("stem", batch, [8, 1, 3]), 8);
            let x: Vec<_> = x.iter().map(|x| d.pool(x, 8, 8)).collect();
            let y = d.batch_norm("first.norm", &conv("first", &x, [4, 8, 3]), 8);
            let y: Vec<_> = y.iter().map(relu).collect();
            let y = d.batch_norm("second.norm", &conv("second", &y, [4, 8, 3]), 8);
            let sums = x.iter().zip(&y).map(|(x, y)| x.iter().zip(y).map(|(x, y)| x + y).collect());
            let x: Vec<_> = sums.map(|sum| relu(&sum)).collect();
            let x = conv("grow", &x, [4, 8, 1]);
            x.iter().map(|x| d.dense("dense", &d.mean(x, 24))).collect()
        });
    }
}
