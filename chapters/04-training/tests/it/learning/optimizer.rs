use dfdx::optim::{AdamConfig, Optimizer as _};
use dfdx::prelude::*;
use training::{
    learning::optimizer::{Optimizer, Rule, State, adam, adamw, momentum, rmsprop, sgd},
    models::model::{loaded, parameters, set_parameters},
};

type Small = (modules::Linear<5, 4, f32, Cpu>, ReLU, modules::Linear<4, 3, f32, Cpu>);

fn gradients(model: &Small, dev: &Cpu, grads: Gradients<f32, Cpu>) -> Gradients<f32, Cpu> {
    let x: Tensor<Rank2<6, 5>, f32, _> = dev.sample_normal();
    model.forward(x.traced(grads)).square().mean().backward()
}

fn flat(model: &Small, grads: &Gradients<f32, Cpu>) -> Vec<f32> {
    let tensors = [
        grads.get(&model.0.weight).as_vec(),
        grads.get(&model.0.bias).as_vec(),
        grads.get(&model.2.weight).as_vec(),
        grads.get(&model.2.bias).as_vec(),
    ];
    tensors.concat()
}

/// One step of the plain version of a rule.
fn plain(rule: Rule, [lr, decay]: [f32; 2], p: &mut [f32], state: &mut State, g: &[f32]) {
    state.t += 1;
    let mut g = g.to_vec();
    if rule != Rule::AdamW {
        g.iter_mut().zip(&*p).for_each(|(g, p)| *g += decay * p);
    }
    match (rule, &mut state.slots[..]) {
        (Rule::Sgd, _) => sgd(lr, p, &g),
        (Rule::Momentum, [v]) => momentum(lr, p, v, &g),
        (Rule::RmsProp, [s]) => rmsprop(lr, p, s, &g),
        (Rule::Adam, [m, v]) => adam(lr, state.t, p, [m, v], &g),
        (Rule::AdamW, [m, v]) => adamw([lr, decay], state.t, p, [m, v], &g),
        _ => panic!("{rule} has {} slots", state.slots.len()),
    }
}

#[test]
fn every_rule_equals_its_plain_version() {
    for (rule, decay) in Rule::ALL.into_iter().flat_map(|rule| [(rule, 0.0), (rule, 0.1)]) {
        let (dev, lr) = (Cpu::seed_from_u64(3), 1e-2);
        let mut model = Small::build(&dev);
        let mut optimizer = Optimizer::new(&model, rule, decay).unwrap();
        let mut p = parameters(&model).unwrap();
        let start = p.clone();
        let mut state = State { t: 0, slots: vec![vec![0.0; p.len()]; rule.memory()] };
        for _ in 0..50 {
            let mut grads = gradients(&model, &dev, model.alloc_grads());
            plain(rule, [lr, decay as f32], &mut p, &mut state, &flat(&model, &grads));
            optimizer.update(f64::from(lr), &mut model, &mut grads).unwrap();
        }
        let ours = parameters(&model).unwrap();
        assert!(ours.iter().zip(&start).any(|(a, b)| (a - b).abs() > 0.02), "{rule}: still");
        for (a, b) in ours.iter().zip(&p) {
            assert!((a - b).abs() < 5e-5, "{rule}, decay {decay}: {a} is not {b}");
        }
    }
}

#[test]
fn adam_equals_dfdx_bit_for_bit() {
    let dev = Cpu::seed_from_u64(3);
    let mut ours = Small::build(&dev);
    let mut theirs = ours.clone();
    let config = AdamConfig { lr: 1e-2, ..AdamConfig::default() };
    let mut optimizer = Optimizer::new(&ours, Rule::Adam, 0.0).unwrap();
    let mut dfdx = dfdx::optim::Adam::new(&theirs, config);
    for _ in 0..20 {
        let mut grads = gradients(&ours, &dev, ours.alloc_grads());
        // The same gradient, moved to the other model's parameters.
        let moved = loaded(&mut theirs, &flat(&ours, &grads)).unwrap();
        dfdx.update(&mut theirs, &moved).unwrap();
        optimizer.update(1e-2, &mut ours, &mut grads).unwrap();
    }
    assert_eq!(parameters(&ours).unwrap(), parameters(&theirs).unwrap());
}

#[test]
fn goes_on_from_its_state_bit_for_bit() {
    let run = |rule: Rule, stop: Option<usize>| {
        let dev = Cpu::seed_from_u64(8);
        let mut model = Small::build(&dev);
        let mut optimizer = Optimizer::new(&model, rule, 1e-3).unwrap();
        for at in 0..20 {
            if stop == Some(at) {
                let weights = parameters(&model).unwrap();
                let state = optimizer.state(&model).unwrap();
                assert_eq!((state.t as usize, state.slots.len()), (at, rule.memory()));
                model = Small::build(&Cpu::seed_from_u64(99));
                set_parameters(&mut model, &weights).unwrap();
                optimizer = Optimizer::new(&model, rule, 1e-3).unwrap();
                optimizer.set_state(&mut model, &state).unwrap();
                assert_eq!(optimizer.state(&model).unwrap(), state);
            }
            let mut grads = gradients(&model, &dev, model.alloc_grads());
            optimizer.update(0.01, &mut model, &mut grads).unwrap();
        }
        parameters(&model).unwrap()
    };
    for rule in Rule::ALL {
        let whole = run(rule, None);
        for stop in [1, 19] {
            assert_eq!(run(rule, Some(stop)), whole, "{rule} stopped at {stop}");
        }
    }
}

#[test]
fn a_state_of_another_size_is_refused() {
    let mut model = Small::build(&Cpu::default());
    let mut optimizer = Optimizer::new(&model, Rule::Adam, 0.0).unwrap();
    for slots in [vec![vec![0.0; 2]; 2], vec![vec![0.0; 39]]] {
        assert!(optimizer.set_state(&mut model, &State { t: 1, slots }).is_err());
    }
}
