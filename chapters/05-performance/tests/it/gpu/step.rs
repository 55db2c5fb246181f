use backprop::adam::{Adam, Adaptive};
use backprop::{
    check::wide, mlp::Mlp, optimizer::Optimizer, random::SplitMix64, softmax::loss_and_gradient,
};
use cpu_gpu::gpu::testing;
use performance::gpu::check::compare;
use performance::gpu::step::{Step, Tensors};

pub(crate) fn example(sizes: &[usize], count: usize) -> (Mlp<f32>, Vec<u8>, Vec<u8>) {
    let mut random = SplitMix64::new(4);
    let pixels = (0..count * sizes[0]).map(|_| random.below(256) as u8).collect();
    let labels = (0..count).map(|_| random.below(sizes[2]) as u8).collect();
    (Mlp::new(sizes, 9).unwrap(), pixels, labels)
}

#[test]
fn ten_steps_equal_chapter_threes() {
    let Some(gpu) = testing::opencl() else { return };
    for (sizes, count, batch) in
        [([20, 9, 5], 30, 7), ([1, 1, 2], 3, 1), ([70, 33, 10], 40, 40), ([65, 40, 3], 64, 32)]
    {
        let (mut model, pixels, labels) = example(&sizes, count);
        let step = Step::new(&*gpu, &model, (&pixels, &labels), batch, Adam::default()).unwrap();
        let order: Vec<u32> = (0..count as u32).map(|i| (i * 7 + 3) % count as u32).collect();
        step.set_order(&order).unwrap();
        let mut optimizer = Adaptive::new(Adam::default(), &model);
        for number in 0..10 {
            let first = number % (count / batch) * batch;
            let chosen = order[first..first + batch].iter().map(|at| *at as usize);
            let row = |at: usize| &pixels[at * sizes[0]..(at + 1) * sizes[0]];
            let x: Vec<f32> = chosen.clone().flat_map(row).map(|p| f32::from(*p) / 255.0).collect();
            let truths: Vec<u8> = chosen.map(|at| labels[at]).collect();
            let pass = model.forward(&x, None).unwrap();
            let (loss, dscores) = loss_and_gradient(&pass.scores, &truths, sizes[2]).unwrap();
            let gradient = model.backward(&pass, &dscores, false).unwrap();
            optimizer.update(&mut model, &gradient);

            step.launch().unwrap();
            let got = step.loss().unwrap();
            assert!((got / loss - 1.0).abs() < 1e-4, "{sizes:?} {number}: {got} is not {loss}");
            let what = format!("{sizes:?}, batch {batch}, step {number}");
            let share = compare(&step.gradient().unwrap(), &wide(&gradient.flat()), 1, 1e-4);
            assert!(share.is_ok(), "gradient of {what}: {share:?}");
            let share = compare(&step.parameters().unwrap(), &wide(&model.parameters()), 1, 1e-4);
            assert!(share.is_ok(), "weights of {what}: {share:?}");
        }
    }
}

#[test]
fn a_run_can_be_repeated_bit_for_bit() {
    let Some(gpu) = testing::opencl() else { return };
    let (model, pixels, labels) = example(&[30, 12, 4], 50);
    let step = Step::new(&*gpu, &model, (&pixels, &labels), 16, Adam::default()).unwrap();
    let run = || {
        step.reset(&model).unwrap();
        (0..5).for_each(|_| step.launch().unwrap());
        step.parameters().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let once = run();
    assert_eq!(once, run());
    assert_ne!(once, model.parameters().into_iter().map(f32::to_bits).collect::<Vec<_>>());
}

#[test]
fn tensors_begin_where_parts_may_and_nothing_is_lost() {
    let tensors = Tensors::new([5, 13, 7]);
    assert!(tensors.starts.iter().all(|start| start.is_multiple_of(64)));
    let values: Vec<f32> = (0..5 * 13 + 13 + 13 * 7 + 7).map(|i| i as f32).collect();
    let all = tensors.spread(&values);
    assert_eq!(all.len(), tensors.total);
    assert_eq!(tensors.gathered(&all), values);
    // The network of the page needs no gaps but the last.
    assert_eq!(Tensors::new([784, 128, 10]).total, 101_770_usize.next_multiple_of(64));
}

#[test]
fn what_does_not_fit_is_refused_in_a_sentence() {
    let Some(gpu) = testing::opencl() else { return };
    let (model, pixels, labels) = example(&[6, 4, 3], 5);
    let rule = Adam::default();
    let refused = |model: &Mlp<f32>, data: (&[u8], &[u8]), batch: usize| match Step::new(
        &*gpu, model, data, batch, rule,
    ) {
        Ok(_) => panic!("it is taken"),
        Err(error) => error.to_string(),
    };
    let deep = Mlp::new(&[6, 4, 4, 3], 1).unwrap();
    assert!(refused(&deep, (&pixels, &labels), 2).contains("one hidden layer"));
    assert!(refused(&model, (&pixels[1..], &labels), 2).contains("29 bytes"));
    assert!(refused(&model, (&pixels, &labels), 6).contains("from 1 to 5"));
    assert!(refused(&model, (&pixels, &labels), 0).contains("from 1 to 5"));
    assert!(refused(&model, (&pixels, &[0, 1, 2, 3, 0]), 2).contains("3 classes"));
    let step = Step::new(&*gpu, &model, (&pixels, &labels), 2, rule).unwrap();
    assert!(step.set_order(&[0, 1, 2, 3, 5]).is_err());
    assert!(step.set_order(&[0]).is_err());
    assert!(step.reset(&Mlp::new(&[6, 5, 3], 1).unwrap()).is_err());
    step.launch().unwrap();
    assert!(step.loss().unwrap().is_finite());
}
