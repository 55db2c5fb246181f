//! The test of the exercise `weight-decay`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Adam, BETAS, Decay, EPSILON};
use lab::{check::near, random::SplitMix64};

/// One weight's way through its gradients, in f64, as the papers write it.
fn reference(mut p: f64, gradients: &[f64], lr: f64, decay: Decay) -> f64 {
    let ([beta1, beta2], epsilon) = (BETAS.map(f64::from), f64::from(EPSILON));
    let (mut m, mut v) = (0.0, 0.0);
    for (t, g) in (1..).zip(gradients) {
        let (l2, shrink) = match decay {
            Decay::Gradient(decay) => (f64::from(decay), 0.0),
            Decay::Step(decay) => (0.0, f64::from(decay)),
        };
        let g = g + l2 * p;
        m = beta1 * m + (1.0 - beta1) * g;
        v = beta2 * v + (1.0 - beta2) * g * g;
        let (m, v) = (m / (1.0 - beta1.powi(t)), v / (1.0 - beta2.powi(t)));
        p -= lr * m / (v.sqrt() + epsilon) + lr * shrink * p;
    }
    p
}

/// A weight that begins at `p` and never has a gradient, after each of so many steps.
fn left_alone(p: f32, steps: usize, lr: f32, decay: Decay) -> Vec<f32> {
    let (mut p, mut adam) = ([p], Adam::default());
    let after = |_| {
        adam.step(&mut p, &[0.0], lr, decay);
        p[0]
    };
    (0..steps).map(after).collect()
}

#[test]
fn both_are_those_of_the_papers() {
    let (lr, mut random) = (0.05_f32, SplitMix64::new(4));
    let start = random.normals(20, 1.0);
    let steps: Vec<Vec<f32>> = (0..40).map(|_| random.normals(20, 1.0)).collect();
    for decay in [Decay::Gradient(0.0), Decay::Step(0.0), Decay::Gradient(0.5), Decay::Step(0.5)] {
        let (mut p, mut adam) = (start.clone(), Adam::default());
        for g in &steps {
            adam.step(&mut p, g, lr, decay);
        }
        let own = |at: usize| steps.iter().map(|g| f64::from(g[at])).collect::<Vec<f64>>();
        let wanted = |at: usize| reference(start[at].into(), &own(at), lr.into(), decay);
        near(p, (0..20).map(wanted).collect::<Vec<f64>>(), 1e-4, format!("{decay:?}"));
    }
}

#[test]
fn beside_the_step_a_weight_without_gradient_loses_the_same_share_each_time() {
    for (lr, decay) in [(0.01, 0.1), (0.1, 0.5), (0.01, 0.001)] {
        let way = left_alone(2.0, 30, lr, Decay::Step(decay));
        let mut wanted = 2.0;
        for (step, found) in (1..).zip(&way) {
            wanted *= 1.0 - lr * decay;
            near(*found, wanted, 1e-5, format!("step {step}"));
        }
    }
}

#[test]
fn in_the_gradient_it_moves_by_about_the_learning_rate_whatever_the_decay() {
    let lr = 0.01;
    for decay in [0.1, 0.01, 0.0001] {
        let [l2, own] = [Decay::Gradient(decay), Decay::Step(decay)]
            .map(|decay| left_alone(2.0, 20, lr, decay));
        println!("decay {decay}: from 2 in 20 steps to {} (L2), {} (AdamW)", l2[19], own[19]);
        for pair in l2.windows(2) {
            let moved = pair[0] - pair[1];
            assert!((moved / lr - 1.0).abs() < 0.05, "decay {decay}: it moved by {moved}");
        }
        let (l2, own) = (2.0 - l2[19], 2.0 - own[19]);
        assert!(own > 0.0 && l2 > 4.0 * own, "decay {decay}: by {l2} and by {own}");
    }
}

#[test]
fn large_gradients_drown_the_decay_in_the_gradient_alone() {
    // Gradients that change their sign: Adam itself ends near where it began.
    let end = |decay: Decay| {
        let (mut p, mut adam) = ([2.0], Adam::default());
        for t in 0..200 {
            adam.step(&mut p, &[if t % 2 == 0 { 100.0 } else { -100.0 }], 0.01, decay);
        }
        p[0]
    };
    let none = end(Decay::Step(0.0));
    let [l2, own] = [Decay::Gradient(0.1), Decay::Step(0.1)].map(|decay| none - end(decay));
    println!("gradients of ±100, 200 steps: the decay takes {l2} (L2), {own} (AdamW)");
    assert!((own / none - 0.18).abs() < 0.01, "a fraction of about 1 − 0.999²⁰⁰: {own} of {none}");
    assert!(l2 > 0.0 && l2 < own / 20.0, "{l2} and {own}");
}
