use backprop::check::{self, wide};
use backprop::train::{Examples, Learner, Settings, Textbook, fit};
use backprop::{
    Error, adam::Adam, mlp::Mlp, order::order, random::SplitMix64, softmax::loss_and_gradient,
};
use half::bf16;
use matmul::{MatRef, Unit, reference, simd::Level};
use mixed_precision::bf16::network::{Multiplication, Network, learner};
use mixed_precision::bf16::number::Number;

fn digits(train: usize, tested: usize) -> (Examples, Examples) {
    let set = lab::data::drawn(train, tested, 3);
    (Examples::of(&set.train), Examples::of(&set.test))
}

fn settings(sizes: &[usize], batch: usize) -> Settings {
    Settings { sizes: sizes.to_vec(), batch, dropout: 0.0, seed: 3, ..Settings::default() }
}

/// Images of random numbers.
fn random(width: usize, classes: usize, count: usize) -> Examples {
    let mut random = SplitMix64::new(6);
    Examples {
        pixels: (0..width * count).map(|_| random.normal() as f32).collect(),
        labels: (0..count).map(|_| random.below(classes) as u8).collect(),
        width,
    }
}

/// The units of this machine, and the models of those that multiply bf16.
fn units() -> Vec<Unit> {
    let vectors = [Unit::Vectors(Level::Portable), Unit::Vectors(Level::best())];
    let of_bf16 = [Unit::Pairs, Unit::PairsModel, Unit::Tiles, Unit::Model];
    let all = vectors.into_iter().chain(of_bf16);
    all.filter(|unit| unit.available()).collect()
}

fn values<E: Number>(x: &[E]) -> Vec<f64> {
    x.iter().map(|x| f64::from(x.value())).collect()
}

fn rounded(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| bf16::from_f32(*x as f32).to_f64()).collect()
}

/// Rows of so many numbers.
fn rows(values: &[f64], cols: usize) -> MatRef<'_, f64> {
    MatRef::new(values, values.len() / cols, cols).unwrap()
}

/// Checks every sum of one step against f64 with inputs that are rounded to bf16, stage by stage: each stage of the
/// reference takes what the network has kept, so that no rounding falls to the other side.
fn one_step_is_the_reference<E: Number>(by: E::Products, sizes: &[usize], batch: usize) {
    let data = random(sizes[0], sizes[sizes.len() - 1], batch);
    // With β₁ = 0 the first moment is the gradient.
    let rule = Adam { beta1: 0.0, ..Adam::default() };
    let settings = Settings { rule, ..settings(sizes, batch) };
    let mut net = Network::<E>::new(settings, by, 2).unwrap();
    let before = net.model().unwrap();
    let all: Vec<usize> = (0..batch).collect();
    let loss = net.step(&data, &all).unwrap();
    let after = net.model().unwrap();

    let weights: Vec<Vec<f64>> =
        before.layers.iter().map(|layer| rounded(&wide(&layer.weights))).collect();
    assert_eq!(rounded(&values(&net.inputs[0])), rounded(&wide(&data.pixels)));
    let mut scores = Vec::new();
    for (at, layer) in before.layers.iter().enumerate() {
        let x = rounded(&values(&net.inputs[at]));
        let w = rows(&weights[at], layer.outputs);
        let (mut y, _) = reference::multiply(rows(&x, layer.inputs), w);
        y.iter_mut().enumerate().for_each(|(i, y)| *y += f64::from(layer.bias[i % layer.outputs]));
        if at + 1 < before.layers.len() {
            let y: Vec<f64> = y.iter().map(|y| y.max(0.0)).collect();
            let kept = values(&net.inputs[at + 1]);
            // One rounding apart at the most where numbers are copied, and no more than f32's sums where not.
            let bound = if E::COPIED { 4e-3 } else { 1e-5 };
            assert!(check::error(&kept, &y) < bound, "layer {at}");
        } else {
            scores = y;
        }
    }
    let (wanted, mut dy) =
        loss_and_gradient(&scores, &data.labels, sizes[sizes.len() - 1]).unwrap();
    assert!((loss / wanted - 1.0).abs() < 1e-5, "{loss} {wanted}");
    for (at, layer) in before.layers.iter().enumerate().rev() {
        let x = rounded(&values(&net.inputs[at]));
        let narrow = rounded(&dy);
        let dy_rows = rows(&narrow, layer.outputs);
        let (dw, _) = reference::multiply(rows(&x, layer.inputs).t(), dy_rows);
        let db: Vec<f64> =
            (0..layer.outputs).map(|j| dy.iter().skip(j).step_by(layer.outputs).sum()).collect();
        let found = wide(&net.moments()[at][0].m);
        // The reference's own derivatives may round to the other side: 2⁻⁸ of one term.
        let bound = if at + 1 == before.layers.len() { 1e-4 } else { 2e-3 };
        let error = check::error(&found, &dw);
        assert!(error < bound, "weights of layer {at}: {error}");
        let error = check::error(&wide(&net.moments()[at][1].m), &db);
        assert!(error < bound, "bias of layer {at}: {error}");
        assert_ne!(after.layers[at].weights, layer.weights);
        if at > 0 {
            (dy, _) = reference::multiply(dy_rows, rows(&weights[at], layer.outputs).t());
            let out = values(&net.inputs[at]);
            dy.iter_mut().zip(out).for_each(|(dy, y)| {
                if y <= 0.0 {
                    *dy = 0.0;
                }
            });
        }
    }
}

const SHAPES: [(&[usize], usize); 4] =
    [(&[5, 3], 1), (&[33, 17, 4], 7), (&[70, 40, 50, 10], 65), (&[100, 64, 32, 16, 3], 32)];

#[test]
fn a_step_is_that_of_f64_with_rounded_inputs_on_every_unit() {
    for unit in units() {
        for (sizes, batch) in SHAPES {
            one_step_is_the_reference::<bf16>(unit, sizes, batch);
            one_step_is_the_reference::<f32>(Some(unit), sizes, batch);
        }
    }
}

#[test]
fn the_gradient_is_that_of_f64_within_the_roundings() {
    let sizes = [12, 10, 8, 5];
    let data = random(12, 5, 16);
    let all: Vec<usize> = (0..16).collect();
    let rule = Adam { beta1: 0.0, ..Adam::default() };
    let settings = Settings { rule, ..settings(&sizes, 16) };
    let mut exact = Mlp::<f64>::zeros(&sizes).unwrap();
    let start = Mlp::<f32>::new(&sizes, settings.seed).unwrap();
    exact.set_parameters(&wide(&start.parameters())).unwrap();
    let x = wide(&data.pixels);
    let pass = exact.forward(&x, None).unwrap();
    let (_, scores) = loss_and_gradient(&pass.scores, &data.labels, 5).unwrap();
    let wanted = exact.backward(&pass, &scores, false).unwrap().flat();
    for unit in units() {
        let error = off::<bf16>(&settings, unit, (&data, &all), &wanted);
        // Each rounding is off by 2⁻⁹ or so, and there is a handful of them on the way.
        assert!((1e-4..2e-2).contains(&error), "{}: {error}", unit.name());
    }
    assert!(off::<f32>(&settings, None, (&data, &all), &wanted) < 1e-5);
}

/// How far the first moments after one step, which are its gradient, are from `wanted`.
fn off<E: Number>(
    settings: &Settings,
    by: E::Products,
    (data, all): (&Examples, &[usize]),
    wanted: &[f64],
) -> f64 {
    let mut net = Network::<E>::new(settings.clone(), by, 2).unwrap();
    net.step(data, all).unwrap();
    let moments = net.moments().into_iter().flatten();
    check::error(&moments.flat_map(|m| wide(&m.m)).collect::<Vec<f64>>(), wanted)
}

fn after(learner: &mut dyn Learner, data: &Examples, epochs: usize) -> (Vec<f32>, f64) {
    let mut loss = f64::NAN;
    for epoch in 1..=epochs {
        loss = learner.epoch(data, &order(1, epoch, data.len()), epoch).unwrap();
    }
    (learner.model().unwrap().parameters(), loss)
}

#[test]
fn in_f32_it_is_chapter_3s_network() {
    let (data, _) = digits(200, 1);
    for (sizes, batch) in [(vec![784, 33, 10], 32), (vec![784, 10], 7), (vec![784, 19, 17, 10], 64)]
    {
        let settings = settings(&sizes, batch);
        let (wanted, loss) = after(&mut Textbook::new(settings.clone(), false).unwrap(), &data, 2);
        let (found, same) = after(&mut *learner(settings, Multiplication::F32).unwrap(), &data, 2);
        let error = check::error_f32(&found, &wanted);
        assert!(error < 1e-4 && (loss / same - 1.0).abs() < 1e-5, "{error}");
    }
}

#[test]
fn rounding_on_the_way_and_keeping_copies_are_the_same_numbers_on_any_number_of_threads() {
    let (data, _) = digits(150, 1);
    let settings = settings(&[784, 37, 50, 10], 64);
    for unit in units() {
        let mut keeping = Network::<bf16>::new(settings.clone(), unit, 1).unwrap();
        let wanted = after(&mut keeping, &data, 2);
        for threads in [1, 2, 5] {
            let mut other = Network::<bf16>::new(settings.clone(), unit, threads).unwrap();
            assert_eq!(after(&mut other, &data, 2), wanted, "{threads} threads");
            let mut rounding = Network::<f32>::new(settings.clone(), Some(unit), threads).unwrap();
            assert_eq!(after(&mut rounding, &data, 2), wanted, "{}", unit.name());
        }
        // The copies are those of the masters that they belong to.
        let masters = keeping.model().unwrap().layers;
        assert_eq!(keeping.copies().len(), masters.len());
        for (copy, master) in keeping.copies().into_iter().zip(&masters) {
            assert_eq!(values(copy), rounded(&wide(&master.weights)));
        }
    }
}

#[test]
fn it_learns_drawn_digits_and_a_hundred_steps_stay_close_to_f32() {
    let (train, tested) = digits(1600, 400);
    let settings = Settings { epochs: 4, ..settings(&[784, 64, 48, 10], 64) };
    let run = |way: Multiplication| {
        let mut learner = learner(settings.clone(), way).unwrap();
        fit(&mut *learner, (&train, &tested), &settings, |_| {}).unwrap()
    };
    let wanted = run(Multiplication::F32);
    for way in [Multiplication::Keeping(Unit::best()), Multiplication::Rounding(Unit::best())] {
        let found = run(way);
        assert!(found[3].loss < 0.5 * found[0].loss && found[3].accuracy > 0.7, "{found:?}");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found.loss / wanted.loss - 1.0).abs() < 0.02, "{found:?} {wanted:?}");
        }
    }
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let (data, _) = digits(40, 1);
    let way = Multiplication::Keeping(Unit::best());
    let rule = Adam { lr: 1e30, ..Adam::default() };
    let wild = Settings { rule, ..settings(&[784, 20, 10], 8) };
    let error = learner(wild, way).unwrap().epoch(&data, &order(0, 1, 40), 1).unwrap_err();
    assert!(matches!(error, Error::Diverged { epoch: 1, step: 2.., .. }), "{error}");
    let noisy = Settings { dropout: 0.2, ..settings(&[784, 10], 8) };
    assert!(learner(noisy, way).is_err_and(|e| e.to_string().contains("set dropout to 0")));
    let mut fine = learner(settings(&[784, 10], 8), way).unwrap();
    assert!(fine.epoch(&data, &[40], 1).is_err() && fine.epoch(&data, &[], 1).is_err());
    let other = random(100, 10, 8);
    assert!(fine.epoch(&other, &[0], 1).is_err());
    for unit in [Unit::Pairs, Unit::Tiles].into_iter().filter(|unit| !unit.available()) {
        assert!(learner(settings(&[784, 10], 8), Multiplication::Keeping(unit)).is_err());
    }
}
