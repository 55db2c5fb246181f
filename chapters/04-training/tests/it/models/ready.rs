use dfdx::prelude::*;
use std::{cell::RefCell, rc::Rc};
use training::models::model::{Images, Network, build, gradients};
use training::models::ready::{Listener, Place, hand_over, listen, silently};
use training::models::{
    cnn::Cnn, linear::Linear, mlp::Mlp, resnet::Resnet, rnn::Rnn, transformer::Transformer,
};

/// Whether it was told during the backward pass or after it, and the numbers as they were at that time.
type Told = Vec<(bool, Vec<f32>)>;

/// All that is heard in a step.
fn step<M: Network<Cpu>>(model: &mut M) -> (Told, Gradients<f32, Cpu>) {
    let dev = Cpu::seed_from_u64(7);
    let images: Images<Cpu> = dev.sample_uniform_like(&(3, Const));
    let (all, over) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(false)));
    let (told, ended) = (Rc::clone(&all), Rc::clone(&over));
    let listener = move |places: &[Place], event| {
        assert_eq!(event, None);
        for &(address, numbers) in places {
            // SAFETY: a living gradient in the host's memory.
            let now = unsafe { std::slice::from_raw_parts(address as *const f32, numbers) };
            told.borrow_mut().push((!*ended.borrow(), now.to_vec()));
        }
    };
    let grads = listen::<Cpu, _>(Box::new(listener), || {
        let scores = model.learn(images.traced(model.alloc_grads())).unwrap();
        let mut grads = scores.square().sum().backward();
        *over.borrow_mut() = true;
        assert!(hand_over(model, &mut grads).unwrap());
        grads
    });
    (all.take(), grads)
}

/// Each gradient is told once, when it is what it will be. Returns how many numbers are told early.
fn early<M: Network<Cpu>>() -> usize {
    let mut model: M = build(&Cpu::seed_from_u64(1)).unwrap();
    let (told, grads) = step(&mut model);
    // They are told in another order than the model's.
    let mut heard: Vec<f32> = told.iter().flat_map(|(_, numbers)| numbers.clone()).collect();
    let mut wanted = gradients(&model, &grads).unwrap();
    heard.sort_by(f32::total_cmp);
    wanted.sort_by(f32::total_cmp);
    assert_eq!(heard, wanted);
    told.iter().filter(|(early, _)| *early).map(|(_, numbers)| numbers.len()).sum()
}

#[test]
fn every_gradient_is_told_once_and_is_whole_by_then() {
    assert_eq!(early::<Linear<Cpu>>(), 0);
    assert_eq!(early::<Mlp<Cpu>>(), 0); // its last layer alone would make no bucket
    assert_eq!(early::<Rnn<f32, Cpu>>(), 0); // all but that is used until the first moment
    assert_eq!(early::<Cnn<f32, Cpu>>(), 800 * 128 + 128 + 128 * 10 + 10);
    let all = build::<Resnet<f32, Cpu>, _>(&Cpu::default()).unwrap();
    let last = all.deep.num_trainable_params() + all.dense.num_trainable_params();
    assert_eq!(early::<Resnet<f32, Cpu>>(), last);
    let all = build::<Transformer<f32, Cpu>, _>(&Cpu::default()).unwrap();
    let first = all.embed.num_trainable_params() + 16 * 64;
    assert_eq!(early::<Transformer<f32, Cpu>>(), all.num_trainable_params() - first);
}

#[test]
fn who_does_not_listen_is_told_nothing() {
    let mut model: Mlp<Cpu> = build(&Cpu::seed_from_u64(1)).unwrap();
    let images: Images<Cpu> = Cpu::default().ones_like(&(2, Const));
    let never: Listener = Box::new(|_, _| panic!("told"));
    listen::<Cpu, _>(never, || {
        silently(|| {
            let scores = model.learn(images.traced(model.alloc_grads())).unwrap();
            assert!(hand_over(&model, &mut scores.sum().backward()).unwrap());
        });
    });
}

#[test]
fn one_number_that_is_not_finite_is_found() {
    let model: Linear<Cpu> = build(&Cpu::seed_from_u64(1)).unwrap();
    let dev = Cpu::default();
    for (bad, finite) in
        [(f32::MAX, true), (f32::NAN, false), (f32::INFINITY, false), (-f32::INFINITY, false)]
    {
        // The gradient of the bias is the sum of the factors.
        let mut factors = vec![f32::MAX; 10]; // finite, though their sum is not
        factors[3] = bad;
        let x: Tensor<Rank1<784>, f32, _> = dev.zeros();
        let scores = model.forward(x.traced(model.alloc_grads()));
        let mut grads = (scores * dev.tensor_from_vec(factors, (Const::<10>,))).sum().backward();
        let heard = || hand_over(&model, &mut grads).unwrap();
        assert_eq!(listen::<Cpu, _>(Box::new(|_, _| {}), heard), finite, "{bad}");
    }
}
