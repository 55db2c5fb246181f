use dfdx::{data::OneHotEncode as _, losses::cross_entropy_with_logits_loss, prelude::*};
use performance::profile::report::{Profile, profile, table};
use performance::profile::step::Step;
use performance::profile::tape::{Phase, timed, untimed};
use std::time::Instant;
use training::model::{self, Network};
use training::optimizer::{Optimizer, Rule};
use training::{Model, engine::Resident, mlp::Mlp};

fn of(model: Model, batch: usize) -> Profile {
    profile(model, &lab::data::drawn(40, 10, 1), batch, 2).unwrap()
}

#[test]
fn every_operation_of_every_model_has_a_name_and_a_cost() {
    for model in Model::ALL {
        let profile = of(model, 6);
        for row in &profile.rows {
            let free = row.name == "release";
            assert!(free || row.cost.bytes > 0.0, "{model}: {row:?}");
            assert!(!row.name.contains("::"), "{model}: {row:?}");
        }
    }
}

#[test]
fn the_products_follow_from_the_models_sizes() {
    let mlp = |name: &str| {
        // dfdx also computes the gradient of the images, which is unused.
        let counts = backprop::count::Model::named(name).unwrap().count().unwrap();
        counts.forward + counts.backward + counts.rows[0].forward
    };
    let conv = |side: f64, k: f64, i: f64, o: f64| side * side * k * k * i * o;
    let block = |side, channels| 2. * conv(side, 3., channels, channels);
    let cnn = conv(28., 5., 1., 16.) + conv(10., 5., 16., 32.) + 800. * 128. + 1280.;
    let resnet =
        conv(28., 3., 1., 24.) + block(14., 24.) + conv(7., 1., 24., 48.) + block(7., 48.) + 480.;
    let rnn = 28. * (28. * 384. + 128. * 384.) + 1280.;
    let layer = 16. * (4. * 64. * 64. + 2. * 64. * 128.) + 2. * 4. * 16. * 16. * 16.;
    let transformer = 16. * 49. * 64. + 2. * layer + 640.;
    for (model, of_an_image) in [
        (Model::Linear, mlp("784-10")),
        (Model::Mlp, mlp("mlp")),
        (Model::Cnn, 6.0 * cnn),
        (Model::Resnet, 6.0 * resnet),
        (Model::Rnn, 6.0 * rnn),
        (Model::Transformer, 6.0 * transformer),
    ] {
        let profile = of(model, 5);
        let found: f64 = profile.rows.iter().map(|row| row.cost.products).sum();
        let wanted = 5.0 * of_an_image;
        assert!((found - wanted).abs() < 1.0, "{model}: {found}, and not {wanted}");
    }
}

#[test]
fn events_have_no_gaps_and_cover_the_step() {
    let dev = Cpu::seed_from_u64(1);
    let mut step = Step::<Mlp<Cpu>, Cpu>::new(&dev).unwrap();
    let data = Resident::new(&dev, &lab::data::drawn(20, 10, 1).train).unwrap();
    let start = Instant::now();
    let events = step.profiled(&data, &[3, 1, 4]).unwrap();
    let whole = start.elapsed().as_secs_f64();
    assert!(events[0].start.abs() < 1e-12);
    for pair in events.windows(2) {
        assert_eq!(pair[0].end.to_bits(), pair[1].start.to_bits());
        assert!(pair[1].end >= pair[1].start);
    }
    let last = events.last().unwrap();
    assert_eq!(last.phase, Phase::Zero);
    assert!(last.end <= whole);
    // Each operation goes both ways, and the backward pass is the forward pass in reverse.
    let ways = |back: bool| {
        let of = events.iter().filter(|event| (event.phase == Phase::Backward) == back);
        of.filter_map(|event| event.op).collect::<Vec<_>>()
    };
    let mut back = ways(true);
    back.reverse();
    assert!(!back.is_empty());
    assert_eq!(ways(false), back);
}

fn same_bits<M: Network<Cpu>>() {
    let build = || {
        let dev = Cpu::seed_from_u64(3);
        let mut model: M = model::build(&dev).unwrap();
        model.set_dropout(0.2);
        (model, dev)
    };
    let slopes = |mut model: M, mut grads: Gradients<f32, Cpu>| {
        // One step of plain descent from the same weights: the gradient, as the weights show it.
        let mut sgd = Optimizer::new(&model, Rule::Sgd, 0.0).unwrap();
        sgd.update(1.0, &mut model, &mut grads).unwrap();
        model::parameters(&model).unwrap()
    };
    let targets = |dev: &Cpu| dev.one_hot_encode(Const::<10>, vec![3, 4, 5]);
    let pixels: Vec<f32> = (0..3 * 784).map(|i| (i % 13) as f32 / 13.0).collect();
    let (mut one, dev) = build();
    let images = dev.tensor_from_vec(pixels.clone(), (3, Const::<784>));
    let scores = one.learn(timed(images, one.alloc_grads())).unwrap();
    let watched = untimed(cross_entropy_with_logits_loss(scores, targets(&dev))).backward();
    let (mut two, dev) = build();
    let images = dev.tensor_from_vec(pixels, (3, Const::<784>));
    let scores = two.learn(images.traced(two.alloc_grads())).unwrap();
    let unwatched = cross_entropy_with_logits_loss(scores, targets(&dev)).backward();
    let [one, two] = [slopes(one, watched), slopes(two, unwatched)];
    assert!(one.iter().zip(&two).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert!(one != model::parameters(&build().0).unwrap(), "no slope");
}

#[test]
fn to_be_watched_changes_no_bit_of_a_gradient() {
    for model in Model::ALL {
        let same_bits = training::by_model!(model, Cpu, same_bits);
        same_bits();
    }
}

#[test]
fn the_table_fits_a_terminal() {
    for model in Model::ALL {
        let text = lab::show::table_text(&table(&of(model, 3), 1e11, 1e10, 16));
        let lines = text.lines().take_while(|line| !line.starts_with("One step"));
        for line in lines {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn what_cannot_be_profiled_is_refused() {
    let data = lab::data::drawn(4, 2, 1);
    for (batch, steps) in [(0, 1), (1, 0), (5, 1)] {
        assert!(profile(Model::Mlp, &data, batch, steps).is_err());
    }
}
