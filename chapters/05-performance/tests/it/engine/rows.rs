use backprop::check;
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use performance::engine::rows::{Dense, Inputs, cross_entropy, dense};
use performance::engine::{layer::Behind, mask::Mask};
use training::{fused::Affine, norm::Rows};

type Grads = Gradients<f32, Cpu>;

fn affine<const I: usize, const O: usize>(dev: &Cpu) -> Dense<I, O> {
    Affine { weight: dev.sample_normal(), bias: dev.sample_normal() }
}

fn close<S: Shape>(one: &Tensor<S, f32, Cpu>, two: &Tensor<S, f32, Cpu>, what: &str) {
    let error = check::error_f32(&one.as_vec(), &two.as_vec());
    assert!(error < 1e-5, "{what}: {error}");
}

/// Both ways, and the gradients of a loss that depends on each output differently.
fn both<const I: usize, const O: usize>(rows: usize, relu: bool) {
    let dev = Cpu::seed_from_u64(rows as u64);
    let layer: Dense<I, O> = affine(&dev);
    let x: Rows<I, Cpu> = dev.sample_normal_like(&(rows, Const));
    let up: Rows<O, Cpu> = dev.sample_normal_like(&(rows, Const));
    let behind = if relu { Behind::Relu(Mask::new(0.0, 0).unwrap()) } else { Behind::Nothing };
    let ours = dense(x.leaky_trace(), &layer, Inputs::Units, behind).unwrap();
    let bias = layer.bias.retaped::<OwnedTape<f32, Cpu>>().broadcast_like(&(rows, Const::<O>));
    let theirs = x.leaky_trace().matmul(layer.weight.retaped::<OwnedTape<f32, Cpu>>()) + bias;
    let theirs = if relu { theirs.relu() } else { theirs };
    let (ours, mine) = ours.split_tape();
    let (theirs, tape) = theirs.split_tape();
    close(&ours, &theirs, "y");
    let (ours, theirs) = (ours.put_tape(mine), theirs.put_tape(tape));
    let [a, b]: [Grads; 2] = [ours, theirs].map(|y| (y * up.clone()).sum().backward());
    close(&a.get(&x), &b.get(&x), "dx");
    close(&a.get(&layer.weight), &b.get(&layer.weight), "dw");
    close(&a.get(&layer.bias), &b.get(&layer.bias), "db");
    let data = dense(x.leaky_trace(), &layer, Inputs::Data, behind).unwrap();
    let mut data = (data * up).sum().backward();
    close(&data.get(&layer.weight), &b.get(&layer.weight), "dw of data");
    // Nothing was allocated for the data: what is asked for now is new, and zero.
    assert!(data.get_or_alloc_mut(&x).unwrap().iter().all(|g| *g == 0.0));
}

#[test]
fn a_layer_is_dfdxs() {
    for relu in [false, true] {
        both::<7, 5>(3, relu);
        both::<33, 17>(1, relu);
        both::<64, 130>(65, relu);
    }
}

#[test]
fn the_loss_is_dfdxs_and_so_is_its_gradient() {
    let dev = Cpu::seed_from_u64(1);
    for rows in [1, 7, 130] {
        let scores: Rows<10, Cpu> = dev.sample_normal_like(&(rows, Const)) * 5.0;
        let labels: Vec<u8> = (0..rows).map(|i| (i * 7 % 10) as u8).collect();
        let mut truth = vec![0.0; rows * 10];
        for (row, label) in truth.chunks_exact_mut(10).zip(&labels) {
            row[usize::from(*label)] = 1.0;
        }
        let truth = dev.tensor_from_vec(truth, (rows, Const::<10>));
        let ours = cross_entropy(scores.leaky_trace(), &labels).unwrap();
        let theirs = cross_entropy_with_logits_loss(scores.leaky_trace(), truth);
        assert!((ours.array() - theirs.array()).abs() < 1e-5 * theirs.array());
        // Half of the loss: what comes from above counts.
        let [a, b] = [ours, theirs].map(|loss| (loss * 0.5).backward());
        close(&a.get(&scores), &b.get(&scores), "scores");
    }
}

#[test]
fn scores_of_a_thousand_do_not_overflow() {
    let dev = Cpu::default();
    let scores: Rows<2, Cpu> = dev.tensor_from_vec(vec![1000.0, -1000.0], (1, Const));
    let loss = cross_entropy(scores.leaky_trace(), &[1]).unwrap();
    assert!((loss.array() - 2000.0).abs() < 1e-3);
    assert_eq!(loss.backward().get(&scores).as_vec(), [1.0, -1.0]);
}

#[test]
fn labels_that_do_not_fit_are_refused() {
    let scores: Rows<3, Cpu> = Cpu::default().zeros_like(&(2, Const));
    for labels in [&[0_u8][..], &[0, 3], &[]] {
        assert!(cross_entropy(scores.leaky_trace(), labels).is_err(), "{labels:?}");
    }
}
