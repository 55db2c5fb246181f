//! The same weights in, the same gradients out: this chapter's network next to dfdx's.

use backprop::{
    adam::{Adam, Adaptive},
    check,
    mlp::Mlp,
    optimizer::Optimizer,
    random::SplitMix64,
    sgd::{Descent, Sgd},
    softmax::loss_and_gradient,
    train::step,
};
use dfdx::{
    data::OneHotEncode as _,
    losses::cross_entropy_with_logits_loss,
    optim::{AdamConfig, Momentum, Optimizer as _, SgdConfig},
    prelude::*,
};

const SIZES: [usize; 4] = [20, 16, 12, 10];

type Theirs = (
    modules::Linear<20, 16, f32, Cpu>,
    ReLU,
    modules::Linear<16, 12, f32, Cpu>,
    ReLU,
    modules::Linear<12, 10, f32, Cpu>,
);

/// dfdx keeps W as outputs×inputs.
fn transposed(w: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..cols).flat_map(|j| (0..rows).map(move |i| w[i * cols + j])).collect()
}

/// dfdx's network with the weights of ours.
fn same(model: &Mlp<f32>, dev: &Cpu) -> Theirs {
    let mut theirs = Theirs::build(dev);
    let w = |at: usize| {
        let layer = &model.layers[at];
        transposed(&layer.weights, layer.inputs, layer.outputs)
    };
    theirs.0.weight.copy_from(&w(0));
    theirs.0.bias.copy_from(&model.layers[0].bias);
    theirs.2.weight.copy_from(&w(1));
    theirs.2.bias.copy_from(&model.layers[1].bias);
    theirs.4.weight.copy_from(&w(2));
    theirs.4.bias.copy_from(&model.layers[2].bias);
    theirs
}

/// The values of dfdx's tensors, in the order and the shape of ours.
fn flat(tensors: [Vec<f32>; 6]) -> Vec<f32> {
    let mut all = Vec::new();
    for (at, tensor) in tensors.into_iter().enumerate() {
        let (inputs, outputs) = (SIZES[at / 2], SIZES[at / 2 + 1]);
        all.extend(if at % 2 == 0 { transposed(&tensor, outputs, inputs) } else { tensor });
    }
    all
}

fn parameters(t: &Theirs) -> Vec<f32> {
    flat([
        t.0.weight.as_vec(),
        t.0.bias.as_vec(),
        t.2.weight.as_vec(),
        t.2.bias.as_vec(),
        t.4.weight.as_vec(),
        t.4.bias.as_vec(),
    ])
}

/// A batch: images and labels.
fn batch(random: &mut SplitMix64, size: usize) -> (Vec<f32>, Vec<u8>) {
    let x = (0..size * SIZES[0]).map(|_| random.normal() as f32).collect();
    (x, (0..size).map(|_| random.below(10) as u8).collect())
}

/// dfdx's loss and its gradients.
fn their_step(theirs: &Theirs, dev: &Cpu, x: &[f32], labels: &[u8]) -> (f32, Gradients<f32, Cpu>) {
    let x = dev.tensor_from_vec(x.to_vec(), (labels.len(), Const::<20>));
    let labels: Vec<usize> = labels.iter().map(|label| usize::from(*label)).collect();
    let hot = dev.one_hot_encode(Const::<10>, labels);
    let scores = theirs.forward(x.traced(theirs.alloc_grads()));
    let loss = cross_entropy_with_logits_loss(scores, hot);
    (loss.array(), loss.backward())
}

fn network() -> Mlp<f32> {
    let mut model = Mlp::new(&SIZES, 12).unwrap();
    let mut random = SplitMix64::new(13);
    for bias in model.layers.iter_mut().flat_map(|layer| &mut layer.bias) {
        *bias = 0.2 * random.normal() as f32;
    }
    model
}

#[test]
fn the_same_weights_give_the_same_loss_and_gradients() {
    let (dev, model) = (Cpu::default(), network());
    let theirs = same(&model, &dev);
    for size in [1, 7, 32, 101] {
        let (x, labels) = batch(&mut SplitMix64::new(size as u64), size);
        let pass = model.forward(&x, None).unwrap();
        let (loss, scores) = loss_and_gradient(&pass.scores, &labels, 10).unwrap();
        let ours = model.backward(&pass, &scores, false).unwrap();
        let (their_loss, g) = their_step(&theirs, &dev, &x, &labels);
        assert!((loss - f64::from(their_loss)).abs() < 1e-5 * loss, "{loss} and {their_loss}");
        let theirs = flat([
            g.get(&theirs.0.weight).as_vec(),
            g.get(&theirs.0.bias).as_vec(),
            g.get(&theirs.2.weight).as_vec(),
            g.get(&theirs.2.bias).as_vec(),
            g.get(&theirs.4.weight).as_vec(),
            g.get(&theirs.4.bias).as_vec(),
        ]);
        let error = check::error_f32(&ours.flat(), &theirs);
        assert!(error < 1e-5, "batch {size}: {error}");
        assert!(theirs.iter().any(|g| g.abs() > 1e-3));
    }
}

/// A hundred steps of both from the same weights, on the same batches. The images' classes can be learned.
fn race(
    mut optimizer: impl Optimizer<f32>,
    mut model: Mlp<f32>,
    mut their_update: impl FnMut(&mut Theirs, &Gradients<f32, Cpu>),
) {
    let dev = Cpu::default();
    let mut theirs = same(&model, &dev);
    let (mut random, mut losses) = (SplitMix64::new(21), Vec::new());
    for at in 0..100 {
        let (x, _) = batch(&mut random, 32);
        let best = |row: &[f32]| backprop::softmax::best(&row[..10]) as u8;
        let labels: Vec<u8> = x.chunks_exact(SIZES[0]).map(best).collect();
        let ours = step(&mut model, &mut optimizer, (&x, &labels), None, false).unwrap();
        let (loss, gradients) = their_step(&theirs, &dev, &x, &labels);
        their_update(&mut theirs, &gradients);
        let apart = (ours - f64::from(loss)).abs() / ours;
        assert!(apart < 1e-4, "step {at}: {ours} and {loss}");
        losses.push(ours);
    }
    let (first, last) = (losses[0], losses[90..].iter().sum::<f64>() / 10.0);
    assert!(last < 0.8 * first, "it trains nothing: {first} to {last}");
    let error = check::error_f32(&model.parameters(), &parameters(&theirs));
    assert!(error < 1e-3, "after 100 steps: {error}");
}

#[test]
fn the_same_loss_curve_over_a_hundred_steps_of_adam() {
    let (dev, model) = (Cpu::default(), network());
    let rule = Adam { lr: 5e-3, ..Adam::default() };
    let config = AdamConfig { lr: 5e-3, ..AdamConfig::default() };
    let mut adam = dfdx::optim::Adam::new(&same(&model, &dev), config);
    race(Adaptive::new(rule, &model), model, |theirs, gradients| {
        adam.update(theirs, gradients).unwrap();
    });
}

#[test]
fn the_same_loss_curve_over_a_hundred_steps_with_momentum() {
    let (dev, model) = (Cpu::default(), network());
    let config = SgdConfig { lr: 0.05, momentum: Some(Momentum::Classic(0.9)), weight_decay: None };
    let mut sgd = dfdx::optim::Sgd::new(&same(&model, &dev), config);
    let rule = Sgd { lr: 0.05, momentum: 0.9 };
    race(Descent::new(rule, &model), model, |theirs, gradients| {
        sgd.update(theirs, gradients).unwrap();
    });
}
