use backprop::{
    check::{self, wide},
    mlp::Mlp,
    softmax::loss_and_gradient,
};
use cpu_gpu::gpu::testing;
use dfdx::prelude::*;
use engine_gpu::Gpu;
use lab::data::{self, DataSet};
use performance::engine::{
    backend::Backend,
    cpu::{Cpu as Cores, Ways},
    program::Numbers,
    record::Recorder,
    rule::{self, ALONE, Kernel, Update, adam},
    state,
    step::Step,
    tensor::{Place, Tensor},
};
use performance::learner::{Engine, by_engine, bytes, moves, on_device, operations};
use training::any::Makers;
use training::model::{self, Images, Network, Targets};
use training::step::{Learner, Stepper};
use training::{
    Config, EngineKind, Model, Settings, Silent, Start, Watcher, engine::Resident,
    learning::metrics, optimizer::Rule, schedule::Schedule, train_on,
};

/// Keeps the loss of every step, and stops after so many.
struct Losses(Vec<f64>, usize);

impl Watcher for Losses {
    fn step(&mut self, step: &metrics::Step) {
        self.0.push(step.loss);
    }

    fn stop(&mut self) -> bool {
        self.0.len() >= self.1
    }
}

fn config(engine: EngineKind, settings: &Settings) -> Config {
    Config {
        settings: Settings { engine, ..settings.clone() },
        makers: Makers { device: on_device, ..Makers::on_cpu(by_engine, bytes) },
        ..Config::default()
    }
}

/// The losses of at most so many steps, and the weights at the end.
fn run(config: &Config, data: &DataSet, steps: usize) -> (Vec<f64>, Vec<f32>) {
    let mut losses = Losses(Vec::new(), steps);
    let outcome = train_on(config, data, &mut losses).unwrap();
    (losses.0, outcome.weights)
}

/// [`run`] to the end by an engine.
fn trained(engine: EngineKind, settings: &Settings, data: &DataSet) -> (Vec<f64>, Vec<f32>) {
    run(&config(engine, settings), data, usize::MAX)
}

/// Trains by both engines, ten steps an epoch. The distance of the weights at the end.
fn apart(settings: &Settings, data: &DataSet) -> f64 {
    let (Settings { model, optimizer, .. }, steps) = (settings, 10 * settings.epochs);
    let (plain, there) = trained(EngineKind::Dfdx, settings, data);
    let (fast, here) = trained(EngineKind::Fast, settings, data);
    assert_eq!((plain.len(), fast.len()), (steps, steps));
    for (step, (plain, fast)) in plain.iter().zip(&fast).enumerate() {
        let error = (plain - fast).abs() / plain;
        assert!(error < 1e-4, "{model}, {optimizer}, step {step}: {plain} and {fast}");
    }
    // So much that a rate which is off by a hundredth shows.
    let most = if steps < 100 { 0.985 } else { 0.8 };
    assert!(plain[steps - 1] < most * plain[0], "{model}, {optimizer}: nothing was learned");
    assert!(here != there, "{model}: both engines were the same");
    check::error_f32(&here, &there)
}

/// Dense models for a hundred steps by every rule; the others, in which rounding grows faster, for twenty of SGD.
#[test]
fn both_engines_train_alike() {
    let data = data::drawn(660, 50, 4);
    for model in Model::ALL {
        let dense = [Model::Linear, Model::Mlp].contains(&model);
        let (rules, epochs) = if dense { (&Rule::ALL[..], 10) } else { (&[Rule::Sgd][..], 2) };
        // In twenty steps of the others' length a recurrent network hardly moves.
        let by = if model == Model::Rnn { 20.0 } else { 1.0 / 3.0 };
        for &optimizer in rules {
            let settings = Settings {
                model,
                optimizer,
                decay: 0.01,
                dropout: 0.0,
                lr: by * optimizer.usual_rate(),
                batch: 66,
                epochs,
                ..Settings::default()
            };
            let error = apart(&settings, &data);
            assert!(error < 1e-3, "{model}, {optimizer}: the weights differ by {error}");
        }
    }
}

/// The gradient of a step on dense layers of these sizes, and chapter 3's of its weights and batch: by hand, in f64.
fn by_hand(step: &mut Step, sizes: &[usize], batch: usize) -> [Vec<f64>; 2] {
    let (images, labels) = step.batch(batch);
    let labels: Vec<u8> = labels.iter().map(|label| *label as u8).collect();
    let (images, mut net) = (wide(images), Mlp::zeros(sizes).unwrap());
    let all = |of: fn(Tensor) -> Tensor| {
        let tensors = step.model.params.tensors.iter();
        tensors.flat_map(|named| wide(step.device.slice(of(named.tensor)))).collect::<Vec<_>>()
    };
    net.set_parameters(&all(|tensor| tensor)).unwrap();
    let pass = net.forward(&images, None).unwrap();
    let (_, dscores) = loss_and_gradient(&pass.scores, &labels, 10).unwrap();
    [all(Tensor::gradient), net.backward(&pass, &dscores, false).unwrap().flat()]
}

/// From the weights that dfdx has at each of a hundred steps. Where a sum of the residual network is so near to zero that rounding
/// decides whether a ReLU passes it on, or which of two is the largest, each engine has the gradient of its side; on one of a few
/// batches whose pixels are another ten-thousandth they are equal, as they would not be if one were wrong.
#[test]
fn gradients_are_those_of_dfdx_and_of_dense_layers_those_by_hand() {
    const BATCH: usize = 20;
    let (dev, data) = (Cpu::seed_from_u64(5), data::drawn(100, 10, 4));
    let set = Resident::new(&Cpu::default(), &data.train).unwrap();
    for model in Model::ALL {
        let settings = Settings { dropout: 0.0, ..Settings::of(model) };
        let mut plain = by_engine(&Cpu::seed_from_u64(1), &settings).unwrap();
        let mut step = Step::new(operations(model, 0.0), 2, Ways::default(), 0, adam);
        let tries = if model == Model::Resnet { 6_u8 } else { 1 };
        for at in 0..100 {
            let index: Vec<_> = (BATCH * at..).take(BATCH).map(|i| i % data.train.len()).collect();
            let (images, targets) = (set.images(&index).unwrap(), set.targets(&index).unwrap());
            let labels: Vec<u32> = set.labels(&index).into_iter().map(u32::from).collect();
            step.from_file(Place::Params, &plain.parameters().unwrap());
            let mut error = |moved: u8| {
                let noise = dev.sample_uniform_like(&images) * (1e-4 * f32::from(moved));
                let images: Images<Cpu> = images.clone() + noise;
                step.fill(BATCH, &images.as_vec(), &labels);
                step.gradient(BATCH, Numbers::F32);
                plain.discard().unwrap();
                plain.gradients(images, targets.clone()).unwrap();
                let (mut row, mut wanted) = (Vec::new(), Vec::new());
                plain.pack(&mut row).unwrap();
                let mut rest = &row[..];
                for named in &step.model.params.tensors {
                    let (own, after) = rest.split_at(named.tensor.words());
                    rest = after;
                    if named.tensor.place == Place::Params {
                        wanted.extend_from_slice(own);
                    }
                }
                let error = check::error_f32(&step.to_file(Place::Gradient), &wanted);
                let sizes: &[usize] = match model {
                    Model::Linear => &[784, 10],
                    Model::Mlp => &[784, 128, 10],
                    _ => return error,
                };
                let [found, wanted] = by_hand(&mut step, sizes, BATCH);
                error.max(check::error(&found, &wanted))
            };
            let small = |error: &f64| assert!(*error < 0.05, "{model}, step {at}: {error}");
            let mut errors = (0..tries).map(&mut error).inspect(small);
            assert!(errors.any(|error| error < 1e-5), "{model}, step {at}");
            plain.update(settings.lr).unwrap();
        }
    }
}

#[test]
fn dropout_helps_neither_engine_more() {
    let data = data::drawn(1500, 500, 5);
    let settings = Settings { dropout: 0.5, epochs: 4, batch: 50, ..Settings::default() };
    let accuracy = [EngineKind::Dfdx, EngineKind::Fast].map(|engine| {
        let outcome = train_on(&config(engine, &settings), &data, &mut Silent).unwrap();
        outcome.test_accuracy().unwrap()
    });
    assert!(accuracy[0] > 0.7 && (accuracy[0] - accuracy[1]).abs() < 0.03, "{accuracy:?}");
    // And it is there: without it the same run ends elsewhere.
    let (_, with) = trained(EngineKind::Fast, &settings, &data);
    let (_, without) = trained(EngineKind::Fast, &Settings { dropout: 0.0, ..settings }, &data);
    assert!(with != without, "dropout changed nothing");
}

#[test]
fn a_resumed_run_goes_the_same_way() {
    let data = data::drawn(400, 100, 6);
    let folder = tempfile::tempdir().unwrap();
    let schedules = [Schedule::Constant, Schedule::Cosine].into_iter().cycle();
    let ways = Rule::ALL.into_iter().cycle().zip(schedules);
    for (model, (optimizer, schedule)) in Model::ALL.into_iter().zip(ways) {
        let (lr, usual) = (optimizer.usual_rate(), Settings::default());
        let settings = Settings { model, optimizer, schedule, lr, epochs: 2, batch: 32, ..usual };
        let (_, whole) = trained(EngineKind::Fast, &settings, &data);
        let run = Some(folder.path().join(model.name()));
        let begun = Config { run, ..config(EngineKind::Fast, &settings) };
        let stopped = train_on(&begun, &data, &mut Losses(Vec::new(), 17)).unwrap();
        assert!(stopped.stopped.is_some());
        let rest = Config { start: Start::Resume, ..begun.clone() };
        let resumed = train_on(&rest, &data, &mut Silent).unwrap();
        assert!(resumed.weights == whole, "{model}, {optimizer}: a resumed run went another way");
        // The other engine rounds differently, so it is refused by name.
        let other = Settings { engine: EngineKind::Dfdx, ..settings };
        let error = train_on(&Config { settings: other, ..rest }, &data, &mut Silent).unwrap_err();
        assert!(error.to_string().contains("--engine fast, not dfdx"), "{error}");
    }
}

#[test]
fn pieces_and_segments_train_alike() {
    let data = data::drawn(100, 20, 4);
    for model in Model::ALL {
        let settings = Settings { batch: 40, epochs: 1, warmup: 0, ..Settings::of(model) };
        let of = |settings: Settings| trained(EngineKind::Fast, &settings, &data).1;
        let whole = of(settings.clone());
        assert!(of(Settings { recompute: 3, ..settings.clone() }) == whole, "{model}");
        let pieces = of(Settings { accumulate: Some(16), ..settings });
        let off = check::error_f32(&pieces, &whole);
        assert!(model == Model::Resnet || off < 1e-3, "{model}: {off}");
    }
}

#[test]
fn weights_names_and_predictions_are_those_of_dfdx() {
    let data = data::drawn(50, 10, 5);
    for model in Model::ALL {
        let of = |engine| {
            let settings = Settings { model, engine, ..Settings::default() };
            by_engine(&Cpu::seed_from_u64(1), &settings).unwrap()
        };
        let [plain, fast] = EngineKind::ALL.map(of);
        assert_eq!(fast.parameters().unwrap(), plain.parameters().unwrap(), "{model}");
        assert_eq!(fast.learned(), plain.learned(), "{model}");
        let set = Resident::new(&Cpu::default(), &data.train).unwrap();
        let index: Vec<usize> = (0..50).collect();
        let [here, there] =
            [&fast, &plain].map(|learner| learner.scores(set.images(&index).unwrap()).unwrap());
        assert!(check::error_f32(&here, &there) < 1e-5, "{model}");
        let own = operations(model, 0.0).params.tensors;
        assert_eq!(own.into_iter().map(|named| named.name).collect::<Vec<_>>(), names(model));
    }
}

/// The names of a model's tensors in chapter 4.
fn names(model: Model) -> Vec<String> {
    fn of<M: Network<Cpu>>() -> Vec<String> {
        let named = model::tensors(&model::build::<M, Cpu>(&Cpu::default()).unwrap()).unwrap();
        named.into_iter().map(|(name, _)| name).collect()
    }
    let of = training::by_model!(model, Cpu, of);
    of()
}

#[test]
fn parts_of_a_step_make_the_whole_one() {
    let dev = || Cpu::seed_from_u64(2);
    let settings = Settings { batch: 8, ..Settings::default() };
    let (mut one, mut two) =
        (Engine::new(&dev(), &settings).unwrap(), Engine::new(&dev(), &settings).unwrap());
    let mut row = Vec::new();
    one.pack(&mut row).unwrap();
    assert!(row.len() >= one.learned() && row.iter().all(|g| *g == 0.0));
    for _ in 0..3 {
        let images: Images<Cpu> = dev().sample_uniform_like(&(8, Const));
        let targets: Targets<Cpu> = dev().zeros_like(&(8, Const));
        one.step(0.01, images.clone(), targets.clone()).unwrap();
        two.gradients(images.clone(), targets).unwrap();
        row.clear();
        two.pack(&mut row).unwrap();
        two.unpack(&row).unwrap();
        two.update(0.01).unwrap();
        assert_eq!(one.scores(images.clone()).unwrap(), two.scores(images).unwrap());
    }
    assert!(row.iter().any(|g| *g != 0.0));
}

/// Runs of some steps on the first OpenCL device against the cores', and one that is broken off and goes on.
#[test]
fn a_device_trains_as_the_cores_do_and_goes_on_with_the_same_bits() {
    let Some(gpu) = testing::opencl() else { return };
    let device: lab::Device = gpu.about().id.parse().unwrap();
    drop(gpu); // a run opens it anew
    let _turn = testing::turn();
    let data = data::drawn(200, 30, 4);
    for (model, optimizer) in [(Model::Linear, Rule::Momentum), (Model::Mlp, Rule::AdamW)] {
        let settings =
            Settings { model, optimizer, decay: 0.01, batch: 66, epochs: 3, ..Settings::default() };
        let train = |device, folder: Option<&std::path::Path>, start, steps| {
            let config = config(EngineKind::Fast, &settings);
            run(&Config { device, run: folder.map(Into::into), start, ..config }, &data, steps)
        };
        let (wanted, _) = train(lab::Device::Cpu, None, Start::New, usize::MAX);
        let (found, weights) = train(device, None, Start::New, usize::MAX);
        assert_eq!(found.len(), 12);
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-3 * wanted, "{model}: {found}, not {wanted}");
        }
        let folder = tempfile::tempdir().unwrap();
        train(device, Some(folder.path()), Start::New, 5);
        let (_, again) = train(device, Some(folder.path()), Start::Resume, usize::MAX);
        assert!(again == weights, "{model}: other bits");
    }
    // What can not be is said before the first step.
    let large = Settings { batch: 1 << 40, engine: EngineKind::Fast, ..Settings::default() };
    let Err(why) = on_device(&Cpu::seed_from_u64(1), &large, device) else { panic!("it fits") };
    assert!(why.to_string().contains("take --batch"), "{why}");
}

/// The weights after two updates, each with these factors of the gradient and of the update.
fn moved<B: Backend>(device: B, rule: Rule, decay: f32, [g, clip]: [[f32; 2]; 2]) -> Vec<f32> {
    let mut step = Step::on(device, operations(Model::Linear, 0.0), 1, moves(rule, decay));
    let all = step.model.params.all(Place::Gradient);
    for turn in 0..2 {
        let gradient = (0..all.words()).map(|i| g[turn] * ((i + turn) as f32).sin());
        step.device.write(all, &gradient.collect::<Vec<f32>>());
        step.set_clip(clip[turn]);
        step.update(0.01);
    }
    step.to_file(Place::Params)
}

#[test]
fn every_rule_takes_the_gradient_as_long_as_it_is_clipped() {
    let far =
        |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let gpu = testing::opencl();
    for rule in Rule::ALL {
        for decay in [0.0, 0.01] {
            let on_cpu = |factors| moved(Cores::new(2), rule, decay, factors);
            let clipped = on_cpu([[1.0, 1.0], [0.3, 0.9]]);
            let short = on_cpu([[0.3, 0.9], [1.0, 1.0]]);
            assert!(far(&clipped, &short) < 1e-6, "{rule}, {decay}");
            assert!(far(&clipped, &on_cpu([[1.0; 2]; 2])) > 1e-4, "{rule}: not clipped");
            if let Some(gpu) = &gpu {
                let there = moved(Gpu::new(&**gpu), rule, decay, [[1.0, 1.0], [0.3, 0.9]]);
                assert!(far(&clipped, &there) < 1e-5, "{rule}, {decay}, on {}", gpu.about().name);
            }
        }
    }
}

/// What becomes of 200 parameters, all 1, that begin at number 70 of a buffer whose numbers 128 to 191 do not shrink.
fn spared<B: Backend>(mut device: B) -> Vec<f32> {
    let code = |Update { rate, first, p, g, .. }: Update| {
        for (at, (p, g)) in p.iter_mut().zip(g).enumerate() {
            let decay = if (128..192).contains(&(first + at)) { 0.0 } else { 0.5 };
            *p -= rate * (*g + decay * *p);
        }
    };
    let rule = rule::Rule::new(code, Some((Kernel::Sgd, 0.5)));
    let rule = rule.with(backprop::adam::Adam::default(), vec![128..160, 160..192]);
    let mut now = [0; state::WORDS];
    (now[state::RATE], now[state::CLIP]) = (0.5_f32.to_bits(), 1.0_f32.to_bits());
    device.allocate(Place::State, state::WORDS);
    device.write(state::tensor(), &now.map(f32::from_bits));
    let all = Place::UPDATED.map(|place| Tensor::new(place, 0, 1, 200));
    for tensor in all {
        device.allocate(tensor.place, 200);
        device.write(tensor, &[f32::from(u8::from(tensor.place == Place::Params)); 200]);
    }
    let mut cx = Recorder::new(ALONE, device.form());
    rule::update(&mut cx, &rule, 70, all);
    let loaded = device.load(cx.finish());
    device.run(&loaded);
    device.read(all[0]).into_owned()
}

#[test]
fn a_part_that_begins_anywhere_spares_what_the_whole_does() {
    let wanted: Vec<f32> =
        (70..270).map(|at| if (128..192).contains(&at) { 1.0 } else { 0.75 }).collect();
    assert_eq!(spared(Cores::new(2)), wanted);
    let Some(gpu) = testing::opencl() else { return };
    assert_eq!(spared(Gpu::new(&*gpu)), wanted);
}
