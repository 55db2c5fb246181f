use dfdx::prelude::*;
use training::models::model::{
    Images, Network, build, pack, parameters, set_parameters, tensors, unpack,
};
use training::models::{
    cnn::Cnn, linear::Linear, mlp::Mlp, resnet::Resnet, rnn::Rnn, transformer::Transformer,
};

/// What every model must do. Its tensors are these, if they are named: each with its sizes.
fn holds<M: Network<Cpu>>(parts: usize, wanted: &str) {
    let one: M = build(&Cpu::seed_from_u64(1)).unwrap();
    let mut two: M = build(&Cpu::seed_from_u64(2)).unwrap();
    let values = parameters(&one).unwrap();
    assert_ne!(values, parameters(&two).unwrap());
    set_parameters(&mut two, &values).unwrap();
    assert_eq!(values, parameters(&two).unwrap());

    let names = tensors(&one).unwrap();
    let counted: usize = names.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    assert_eq!((counted, names.len()), (values.len(), parts));
    let mut unique: Vec<&String> = names.iter().map(|(name, _)| name).collect();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), parts, "{names:?}");
    let found: Vec<String> =
        names.iter().map(|(name, sizes)| format!("{name} {sizes:?}")).collect();
    if !wanted.is_empty() {
        assert_eq!((&*found.join(", "), one.num_trainable_params()), (wanted, counted));
    }

    lab::testing::refused(set_parameters(&mut two, &values[1..]), [&values.len().to_string()]);
    draws_as_it_says::<M>();
}

/// A resumed run draws the numbers again that it drew before the interruption.
fn draws_as_it_says<M: Network<Cpu>>() {
    let next = |dev: &Cpu, learn: bool| {
        let mut model: M = build(dev).unwrap();
        let images: Images<Cpu> = dev.zeros_like(&(2, Const));
        if learn {
            model.learn(images.leaky_trace()).unwrap();
        } else {
            for _ in 0..M::DRAWS_PER_STEP {
                dev.random_u64();
            }
        }
        dev.random_u64()
    };
    assert_eq!(next(&Cpu::seed_from_u64(5), true), next(&Cpu::seed_from_u64(5), false));
}

#[test]
fn every_model_is_read_written_and_named() {
    let norm = |name: &str| format!("{name}.gamma [64], {name}.beta [64]");
    let dense = |name: &str, [inputs, outputs]: [usize; 2]| {
        format!("{name}.weight [{inputs}, {outputs}], {name}.bias [{outputs}]")
    };
    holds::<Linear<Cpu>>(2, "weight [10, 784], bias [10]");
    let mlp = "0.0.weight [128, 784], 0.0.bias [128], 2.weight [10, 128], 2.bias [10]";
    holds::<Mlp<Cpu>>(4, mlp);
    holds::<Cnn<f32, Cpu>>(8, "");
    holds::<Resnet<f32, Cpu>>(6 * 5 + 2, "");
    let rnn = [("input", [28, 384]), ("recurrent", [128, 384]), ("dense", [128, 10])];
    holds::<Rnn<f32, Cpu>>(6, &rnn.map(|(name, sizes)| dense(name, sizes)).join(", "));
    let mut transformer = vec![dense("embed", [49, 64]), "position [16, 64]".to_owned()];
    for block in ["block1", "block2"] {
        let of = |name: &str| format!("{block}.{name}");
        transformer.push(norm(&of("norm1")));
        let parts = ["query", "key", "value", "merge"];
        transformer.extend(parts.map(|part| dense(&of(&format!("attention.{part}")), [64; 2])));
        transformer.push(norm(&of("norm2")));
        transformer.extend([dense(&of("wide"), [64, 128]), dense(&of("narrow"), [128, 64])]);
    }
    transformer.extend([norm("norm"), dense("dense", [64, 10])]);
    holds::<Transformer<f32, Cpu>>(3 + 2 * 16 + 4, &transformer.join(", "));
}

#[test]
fn a_row_holds_gradients_and_kept_means_and_goes_back() {
    let dev = Cpu::seed_from_u64(1);
    let mut model: Resnet<f32, Cpu> = build(&dev).unwrap();
    let numbers = parameters(&model).unwrap();
    let mut grads = model.alloc_grads();
    let mut row = vec![7.0];
    pack(&model, &grads, &mut row).unwrap();
    assert_eq!(row.len(), 1 + numbers.len());
    // Gradients are zero, kept means 0 and variances 1.
    let kept = numbers.len() - model.num_trainable_params();
    let sum: f32 = row[1..].iter().sum();
    assert!((sum - 0.5 * kept as f32).abs() < 1e-6, "{sum}");

    let new: Vec<f32> = (0..numbers.len()).map(|i| i as f32).collect();
    for _ in 0..2 {
        unpack(&mut model, &mut grads, &new).unwrap(); // in place of what is there
    }
    let mut again = Vec::new();
    pack(&model, &grads, &mut again).unwrap();
    assert_eq!(again, new);
    let after = parameters(&model).unwrap();
    let changed = numbers.iter().zip(&after).filter(|(old, new)| (*old - *new).abs() > 0.0).count();
    assert_eq!(changed, kept, "only what is kept is written into the model");
}
