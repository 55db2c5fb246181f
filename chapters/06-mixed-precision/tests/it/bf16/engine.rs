use backprop::{
    check::{self, wide},
    random::SplitMix64,
    softmax::loss_and_gradient,
    train::{Examples, Settings, fit},
};
use half::bf16;
use matmul::{MatRef, reference};
use mixed_precision::bf16::roofline::Needs;
use performance::{
    engine::{
        cpu::Ways,
        program::{Numbers, ledger},
        rule::adam,
        step::Step,
        tensor::Place,
    },
    ladder::{layers, reading},
};

fn rounded(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| bf16::from_f32(*x as f32).to_f64()).collect()
}

/// Rows of so many numbers.
fn rows(values: &[f64], cols: usize) -> MatRef<'_, f64> {
    MatRef::new(values, values.len() / cols, cols).unwrap()
}

/// The gradient in f64 of all layers' parameters, whose products read what `read` makes of numbers.
fn gradient(
    sizes: &[usize],
    mut parameters: &[f64],
    (x, labels): (&[f64], &[u8]),
    read: fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let mut passed = Vec::new();
    let mut x = x.to_vec();
    for (at, pair) in sizes.windows(2).enumerate() {
        let (w, rest) = parameters.split_at(pair[0] * pair[1]);
        let (bias, rest) = rest.split_at(pair[1]);
        parameters = rest;
        let (input, w) = (read(&x), read(w));
        (x, _) = reference::multiply(rows(&input, pair[0]), rows(&w, pair[1]));
        let least = if at + 2 < sizes.len() { 0.0 } else { f64::NEG_INFINITY };
        x.iter_mut().enumerate().for_each(|(i, y)| *y = (*y + bias[i % pair[1]]).max(least));
        passed.push((input, w, x.clone()));
    }
    let (_, mut dy) = loss_and_gradient(&x, labels, sizes[sizes.len() - 1]).unwrap();
    let mut all = Vec::new();
    for (at, (input, w, y)) in passed.iter().enumerate().rev() {
        let [inputs, outputs] = [sizes[at], sizes[at + 1]];
        if at + 2 < sizes.len() {
            dy.iter_mut().zip(y).filter(|(_, y)| **y <= 0.0).for_each(|(dy, _)| *dy = 0.0);
        }
        let bias = (0..outputs).map(|j| dy.iter().skip(j).step_by(outputs).sum());
        let narrow = read(&dy);
        let (dw, _) = reference::multiply(rows(input, inputs).t(), rows(&narrow, outputs));
        all.splice(0..0, dw.into_iter().chain(bias));
        (dy, _) = reference::multiply(rows(&narrow, outputs), rows(w, outputs).t());
    }
    all
}

/// A step behind one pass over random images.
fn step(sizes: &[usize], batch: usize, threads: usize, numbers: Numbers) -> Step {
    let mut step = Step::new(layers(sizes, 0.0), threads, Ways::default(), 1, adam);
    let mut random = SplitMix64::new(6);
    let (images, labels) = step.batch(batch);
    for pixel in images {
        *pixel = random.normal() as f32;
    }
    for label in labels {
        *label = random.below(sizes[sizes.len() - 1]) as u32;
    }
    step.gradient(batch, numbers);
    step
}

const SHAPES: [(&[usize], usize); 4] =
    [(&[5, 3], 1), (&[33, 17, 4], 7), (&[70, 40, 50, 10], 65), (&[100, 64, 32, 16, 3], 32)];

#[test]
fn the_gradient_is_that_of_f64_with_rounded_inputs() {
    for (sizes, batch) in SHAPES {
        let mut narrow = step(sizes, batch, 2, Numbers::Bf16);
        let parameters = wide(&narrow.to_file(Place::Params));
        let found = wide(&narrow.to_file(Place::Gradient));
        let (images, labels) = narrow.batch(batch);
        let labels: Vec<u8> = labels.iter().map(|label| *label as u8).collect();
        let images = wide(images);
        let wanted = |read| gradient(sizes, &parameters, (&images, &labels), read);
        // A number of the reference may round to the other side: 2⁻⁸ of one term.
        let error = check::error(&found, &wanted(rounded));
        assert!(error < 1e-3, "{sizes:?}: {error}");
        // Each rounding is off by 2⁻⁹ or so, and there is a handful of them on the way.
        let error = check::error(&found, &wanted(<[f64]>::to_vec));
        assert!((1e-3..2e-2).contains(&error), "{sizes:?}: {error}");
        let wide_step = step(sizes, batch, 1, Numbers::F32);
        let exact = wide(&wide_step.to_file(Place::Gradient));
        assert!(check::error(&exact, &wanted(<[f64]>::to_vec)) < 1e-5);
    }
}

#[test]
#[allow(clippy::float_cmp)] // Whole numbers: nothing rounds.
fn operations_and_bytes_of_the_calls_are_those_that_were_counted() {
    for (sizes, batch) in SHAPES {
        let step = step(sizes, batch, 1, Numbers::F32);
        let needs = Needs::of(sizes, batch, false);
        let calls = &step.passes.values().next().unwrap().calls;
        let products = ledger(calls).into_iter().filter(|entry| entry.name == "product");
        let (flops, bytes) = products.fold((0.0, 0.0), |(flops, bytes), entry| {
            (flops + entry.flops, bytes + entry.bytes as f64)
        });
        let biases: usize = sizes[1..].iter().sum();
        assert_eq!((flops, bytes), (needs.operations, needs.products + 4.0 * biases as f64));
    }
}

#[test]
fn it_learns_drawn_digits_and_a_hundred_steps_stay_close_to_f32() {
    let set = lab::data::drawn(1600, 400, 3);
    let (train, tested) = (Examples::of(&set.train), Examples::of(&set.test));
    let (sizes, batch, epochs) = (vec![784, 64, 48, 10], 64, 4);
    let settings = Settings { sizes, batch, epochs, dropout: 0.0, seed: 3, ..Settings::default() };
    let [wanted, found] = [Numbers::F32, Numbers::Bf16].map(|numbers| {
        let mut learner = reading(settings.clone(), numbers).unwrap();
        fit(&mut *learner, (&train, &tested), &settings, |_| {}).unwrap()
    });
    assert!(found[3].loss < 0.5 * found[0].loss && found[3].accuracy > 0.7, "{found:?}");
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_ne!(found.loss.to_bits(), wanted.loss.to_bits());
        assert!((found.loss / wanted.loss - 1.0).abs() < 0.02, "{found:?} {wanted:?}");
    }
}
