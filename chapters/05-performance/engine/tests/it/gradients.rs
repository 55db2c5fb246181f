//! Loss and gradients of every operation against the definition in f64 and its central differences.

use crate::definition::{Definition, Values};
use crate::steps::step_of;
use backprop::check::wide;
use engine::{
    model::Model,
    ops::{
        attention::Attention, batch_norm::BatchNorm, conv::Conv, dense::Dense, gru::Gru,
        linear::Linear, mean::Mean, norm::Norm, patches::Patches, pool::ReluPool,
        position::Position, relu::Relu, residual::Residual,
    },
    params::Params,
    philox::Dropout,
    program::Numbers,
    state,
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
        (0..size * inputs).map(|i| f32::from((i * 97 + i / 7 * 31) as u8) / 255.0).collect();
    let labels: Vec<u32> = (0..size as u32).map(|i| i * 7 % 10).collect();
    let tensors = model.params.tensors.clone();
    let tensors = || tensors.iter().filter(|t| t.tensor.place == engine::tensor::Place::Params);
    let mut values: Values = tensors()
        .map(|named| {
            let values = &model.params.values[named.tensor.start..][..named.tensor.words()];
            (named.name.clone(), wide(values))
        })
        .collect();
    let mut step = step_of(model, 2);
    step.fill(size, &pixels, &labels);
    step.gradient(size, Numbers::F32);

    let loss = |values: &Values| {
        let batch: Vec<Vec<f64>> = pixels.chunks_exact(inputs).map(wide).collect();
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
        let gradient = step.device.slice(tensor.gradient()).to_vec();
        let length = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        for at in (0..tensor.words()).step_by(tensor.words().div_ceil(9)) {
            let mut slope = |by: f64| {
                values.get_mut(name).unwrap()[at] += by;
                let loss = loss(&values);
                values.get_mut(name).unwrap()[at] -= by;
                loss
            };
            let wanted = (slope(1e-6) - slope(-1e-6)) / 2e-6;
            // A key's bias changes no share, so that its gradient is zero.
            let error = (f64::from(gradient[at]) - wanted).abs() / length.max(1e-3);
            assert!(error < 1e-5, "{name}[{at}]: {}, by definition {wanted}", gradient[at]);
        }
    }
}

#[test]
fn dense_relu_dropout_and_shared_weights() {
    let net = Model::new(5, 24, |p| {
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
fn convolutions_with_a_bias_pools_linear_layers_and_tied_ones() {
    let net = Model::new(5, 64, |p| {
        let turned = p.uniform("turned", [24, 24], 0.2);
        vec![
            Box::new(Conv::new(p, "one", [8, 8, 1], 8, [5, 2])),
            Box::new(ReluPool::new("pool", [8, 8, 8])),
            Box::new(Conv::new(p, "two", [4, 4, 8], 24, [3, 0])),
            Box::new(ReluPool::new("pool", [2, 2, 24])),
            Box::new(Linear::tied("first", turned)),
            Box::new(Linear::new(p, "own", [24, 24])),
            Box::new(Linear::tied("last", turned)),
            Box::new(Linear::new(p, "scores", [24, 10])),
        ]
    });
    check(net, |d, x| {
        let x = d.conv("one", x, [8, 8, 1], [5, 2]);
        let x = d.conv("two", &d.pool(&x, 8, 8), [4, 4, 8], [3, 0]);
        let x = d.linear("own", &d.turned("turned", &d.pool(&x, 2, 24)));
        d.linear("scores", &d.turned("turned", &x))
    });
}

/// What a transformer is made of, in sizes that are vectors and some that are not.
#[test]
fn patches_position_norm_attention_residual_and_mean() {
    for (image, patch, heads, width) in [(6, 2, 3, 12), (8, 2, 4, 64), (4, 1, 1, 10)] {
        let (pixels, tokens) = (image * image, image * image / patch / patch);
        let layer = |p: &mut Params, name: &str, sides: [usize; 2]| {
            Dense::straight(p, name, sides[0], sides[1]).near()
        };
        let net = Model::new(5, pixels, |p| {
            vec![
                Box::new(Dense::new(p, "first", pixels, pixels)),
                Box::new(Patches { image, patch }),
                Box::new(layer(p, "embed", [patch * patch, width])),
                Box::new(Position::new(p, "position", [tokens, width])),
                Box::new(Residual(vec![
                    Box::new(Norm::new(p, "norm1", width)),
                    Box::new(Attention::new(p, "attention", [tokens, width], heads)),
                    Box::new(layer(p, "merge", [width, width])),
                ])),
                Box::new(Residual(vec![
                    Box::new(Norm::new(p, "norm2", width)),
                    Box::new(layer(p, "wide", [width, 53]).relu()),
                    Box::new(layer(p, "narrow", [53, width])),
                ])),
                Box::new(Mean(tokens)),
                Box::new(layer(p, "scores", [width, 10])),
            ]
        });
        check(net, |d, x| {
            let sum = |x: &[f64], y: Vec<f64>| -> Vec<f64> {
                x.iter().zip(y).map(|(x, y)| x + y).collect()
            };
            let x = d.patches(&d.dense("first", x), image, patch);
            let x = sum(&d.tokens("embed", &x, patch * patch), d.values["position"].clone());
            let y = d.attention("attention", &d.norm("norm1", &x, width), [heads, width]);
            let x = sum(&x, d.tokens("merge", &y, width));
            let y = d.tokens("wide", &d.norm("norm2", &x, width), width);
            let y: Vec<f64> = y.iter().map(|y| y.max(0.0)).collect();
            let x = sum(&x, d.tokens("narrow", &y, 53));
            d.dense("scores", &d.mean(&x, width))
        });
    }
}

#[test]
fn a_gated_recurrent_unit_over_several_moments() {
    for (inputs, units) in [(12, 16), (6, 5)] {
        let net = Model::new(5, 24, |p| {
            vec![
                Box::new(Dense::new(p, "embed", 24, 24)),
                Box::new(Gru::new(p, "", [24 / inputs, inputs], units)),
                Box::new(Dense::straight(p, "dense", units, 10)),
            ]
        });
        check(net, |d, x| d.dense("dense", &d.gru(&d.dense("embed", x), inputs)));
    }
}

/// With batches that are not cut into equal blocks, and of one image alone.
#[test]
fn batch_norms_and_means() {
    for size in [1, 6, 35] {
        let net = Model::new(5, 64, |p| {
            vec![
                Box::new(Conv::bare(p, "stem", [8, 8, 1], 8, 3)),
                Box::new(BatchNorm::new(p, "stem.norm", 8)),
                Box::new(ReluPool::new("stem.pool", [8, 8, 8])),
                Box::new(Residual(vec![
                    Box::new(Conv::bare(p, "first", [4, 4, 8], 8, 3)),
                    Box::new(BatchNorm::new(p, "first.norm", 8).relu()),
                    Box::new(Conv::bare(p, "second", [4, 4, 8], 8, 3)),
                    Box::new(BatchNorm::new(p, "second.norm", 8)),
                ])),
                Box::new(Relu),
                Box::new(Conv::bare(p, "grow", [4, 4, 8], 24, 1)),
                Box::new(Mean(16)),
                Box::new(Dense::new(p, "dense", 24, 10)),
            ]
        });
        let relu = |x: &Vec<f64>| -> Vec<f64> { x.iter().map(|x| x.max(0.0)).collect() };
        check_batch(net, size, |values, batch| {
            let d = Definition { values, row: 0 };
            let conv = |name: &str, x: &[Vec<f64>], [side, ci, k]: [usize; 3]| -> Vec<_> {
                x.iter().map(|x| d.conv(name, x, [side, side, ci], [k, k / 2])).collect()
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
