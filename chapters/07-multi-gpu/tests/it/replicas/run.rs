use cpu_gpu::gpu::testing::opencl;
use dfdx::prelude::Cpu;
use lab::data::{self, DataSet};
use mixed_precision::amp::autocast::Autocast;
use mixed_precision::amp::scaler::{Dynamic, Scaling};
use multi_gpu::replicas::run::{engine, in_own_pool, train_learner, train_rank, train_threads};
use multi_gpu::replicas::show::{all, twenty_steps};
use multi_gpu::{
    Communicator, PointToPoint, Rank, Result,
    replicas::link::Link,
    split::equality::largest,
    threads::{self, Threads},
};
use performance::learner::of;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
};
use training::{
    Config, EngineKind, Model, Outcome, Precision, Settings, Silent, Start, Watcher,
    checkpoint::Checkpoint, optimizer::Rule, train_on as alone, watch::Epoch,
};

fn settings(model: Model) -> Settings {
    twenty_steps(model).0.settings
}

fn config(settings: Settings) -> Config {
    Config { settings, ..twenty_steps(Model::Mlp).0 }
}

/// Replicas end equal to each other, and near one device; one alone ends with the same bits.
fn is_one_device(config: &Config, data: &DataSet, sizes: &[usize]) {
    let one = alone(config, data, &mut Silent).unwrap();
    let Settings { model, optimizer, .. } = config.settings;
    for &size in sizes {
        let ranks = all(size, config, data).unwrap();
        for rank in &ranks {
            assert!(rank.weights == ranks[0].weights, "ranks differ: {model}, {size}");
            let far = largest(&rank.weights, &one.weights);
            assert!(far < 1e-5, "{model}, {optimizer}, {size} ranks: {far}");
            assert!(size > 1 || rank.weights == one.weights, "one rank is not one device");
        }
        for (epoch, wanted) in ranks[0].history.iter().zip(&one.history) {
            let right = |epoch: &Epoch| [epoch.train_accuracy, epoch.test_accuracy];
            assert_eq!(right(epoch).map(f64::to_bits), right(wanted).map(f64::to_bits));
            assert!((epoch.train_loss - wanted.train_loss).abs() < 1e-5);
            assert!((epoch.test_loss - wanted.test_loss).abs() < 1e-5);
        }
    }
}

#[test]
fn equals_training_on_one_device() {
    for model in [Model::Linear, Model::Mlp, Model::Cnn, Model::Transformer] {
        let (config, data) = twenty_steps(model);
        is_one_device(&config, &data, &[1, 2, 3]);
    }
    // More ranks than images: the last batch has one, and there are fewer to test on than ranks.
    for optimizer in [Rule::Momentum, Rule::Adam] {
        let base = Settings { batch: 4, lr: optimizer.usual_rate(), ..settings(Model::Linear) };
        is_one_device(&config(Settings { optimizer, ..base }), &data::drawn(9, 3, 2), &[5]);
    }
}

#[test]
fn dropout_has_one_mask_whoever_has_the_batchs_parts_and_its_pieces() {
    let (plain, data) = twenty_steps(Model::Mlp);
    let without = alone(&plain, &data, &mut Silent).unwrap();
    let settings = Settings { dropout: 0.5, ..plain.settings };
    for accumulate in [None, Some(3)] {
        let with = config(Settings { accumulate, ..settings.clone() });
        is_one_device(&with, &data, if accumulate.is_some() { &[2, 3] } else { &[1, 2, 3] });
        let dropped = alone(&with, &data, &mut Silent).unwrap();
        assert!(largest(&dropped.weights, &without.weights) > 1e-4);
    }
}

#[test]
fn batch_normalisation_is_by_the_part_and_its_record_by_all() {
    let data = data::drawn(24, 10, 1);
    let base = settings(Model::Resnet);
    let config = config(Settings { epochs: 1, batch: 12, ..base });
    let one = alone(&config, &data, &mut Silent).unwrap();
    let two = all(2, &config, &data).unwrap();
    // What is kept for predictions is the same everywhere...
    assert!(two[0].weights == two[1].weights);
    // ...and the model is near that of one device, but not equal.
    let far = largest(&two[0].weights, &one.weights);
    assert!(far > 1e-5 && far < 0.5, "{far}");
}

/// Stops after so many steps.
struct StopAfter(usize);

impl Watcher for StopAfter {
    fn stop(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

/// Trains with `size` ranks and stops after six steps: the wish of the sixth travels with the seventh.
fn stopped(size: usize, config: &Config, data: &DataSet) {
    let ranks = threads::run(size, |comm| {
        in_own_pool(comm.rank(), 1, || {
            let after = if comm.rank().0 == 0 { 6 } else { 100 };
            Ok(train_rank(comm, config, data, &mut StopAfter(after))?.0)
        })
    });
    for rank in ranks.unwrap() {
        assert_eq!(rank.stopped, Some((2, 3)), "of four steps each");
    }
}

/// What a run of `before` ranks that was stopped comes to with `after`.
fn resumed(base: &Config, data: &DataSet, before: usize, after: usize) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let first = Config { run: Some(run.clone()), ..base.clone() };
    stopped(before, &first, data);
    assert_eq!(Checkpoint::load(&run).unwrap().header.steps, 7);
    let second = Config { start: Start::Resume, ..first };
    let (outcome, spent) = train_threads(after, &second, data, &mut Silent).unwrap();
    assert_eq!((spent.steps, outcome.history.len()), (20 - 7, 5));
    assert!(run.join("model.safetensors").exists());
    outcome
}

#[test]
fn a_stopped_run_goes_on_with_any_number_of_ranks() {
    let (base, data) = twenty_steps(Model::Mlp);
    let with = config(Settings { dropout: 0.5, ..base.settings });
    let whole = alone(&with, &data, &mut Silent).unwrap();
    for (before, after) in [(3, 2), (1, 3), (2, 1)] {
        let far = largest(&resumed(&with, &data, before, after).weights, &whole.weights);
        assert!(far < 1e-5, "{before} then {after} ranks: {far}");
    }
    // Bit for bit, if there are as many ranks.
    let (whole, _) = train_threads(2, &with, &data, &mut Silent).unwrap();
    assert!(resumed(&with, &data, 2, 2).weights == whole.weights);
}

/// Mixed precision, with a factor that overflows in the first step of whoever has the larger gradients.
fn mixed(model: Model, precision: Precision) -> (Config, DataSet) {
    let (base, data) = twenty_steps(model);
    (config(Settings { precision, ..base.settings }), data)
}

#[test]
fn mixed_precision_is_that_of_one_device() {
    for (model, precision) in [
        (Model::Mlp, Precision::Amp),
        (Model::Cnn, Precision::Amp),
        (Model::Transformer, Precision::Bf16),
    ] {
        let (config, data) = mixed(model, precision);
        let one = alone(&config, &data, &mut Silent).unwrap();
        assert_eq!(one.loss_scale.is_some(), precision == Precision::Amp);
        let (f32, _) = twenty_steps(model);
        let full = alone(&f32, &data, &mut Silent).unwrap();
        let rounding = largest(&full.weights, &one.weights);
        assert!(rounding > 1e-5, "{model}, {precision}: {rounding}");
        for size in [1, 3] {
            for rank in all(size, &config, &data).unwrap() {
                let far = largest(&rank.weights, &one.weights);
                let small = far < 2.0 * rounding;
                assert!(small, "{model}, {precision}, {size} ranks: {far}, {rounding}");
                assert!(size > 1 || rank.weights == one.weights, "{model}: {far}");
                assert_eq!(rank.loss_scale.is_some(), one.loss_scale.is_some());
            }
        }
    }
}

#[test]
fn all_ranks_skip_the_step_that_overflowed_in_one() {
    for model in [Model::Rnn, Model::Resnet] {
        let (config, data) = mixed(model, Precision::Amp);
        let (settings, dev) = (&config.settings, || Cpu::seed_from_u64(config.settings.seed));
        let ends = threads::run(3, |comm| {
            in_own_pool(comm.rank(), 1, || {
                let (rank, link) = (comm.rank().0, Link::new(Arc::new(Mutex::new(comm))));
                let learner = engine(&link, &dev(), settings, of(settings))?.seeded(settings)?;
                // A factor that is too large for rank 1 alone: the others only hear of it.
                let start = if rank == 1 { 2f32.powi(60) } else { 1024.0 };
                let scaling = Scaling::Dynamic(Dynamic { start, every: 2000 });
                let own = Autocast::new(Box::new(learner), Precision::Amp).scaling(scaling);
                let (own, mut watcher) = (Box::new(own), StopAfter(3));
                Ok(train_learner(own, &dev(), &link, &config, &data, &mut watcher)?.0)
            })
        });
        let ends = ends.unwrap();
        for end in &ends {
            let scale = end.loss_scale.unwrap();
            assert_eq!((scale.skipped, scale.good), (4, 0), "{model}: {scale:?}");
            assert!(end.weights == ends[0].weights, "{model}: ranks differ");
        }
        // Nothing was learned; what a normalisation has seen is no learning.
        let first = (config.makers.cpu)(&dev(), settings).unwrap().parameters().unwrap();
        assert_eq!(ends[0].weights == first, model == Model::Rnn);
    }
}

/// A rank that counts the numbers that leave it by another thread than its own.
struct Early(Threads, ThreadId, Arc<AtomicUsize>);

impl PointToPoint for Early {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        self.0.send(to, data)
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        self.0.receive(from, data)
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        let early = if thread::current().id() == self.1 { 0 } else { send.len() };
        self.2.fetch_add(early, Relaxed);
        self.0.exchange(to, send, from, receive)
    }
}

impl Communicator for Early {}

#[test]
fn all_buckets_but_the_last_leave_while_gradients_are_computed() {
    let dense = |inputs: usize, outputs: usize| (inputs + 1) * outputs;
    // Most of a dense network's numbers are its first layer's, whose gradient is the last.
    for (model, early) in [(Model::Mlp, 0), (Model::Cnn, dense(800, 128) + dense(128, 10))] {
        let (config, data) = twenty_steps(model);
        let left = threads::run(2, |comm| {
            in_own_pool(comm.rank(), 1, || {
                let left = Arc::default();
                let comm = Early(comm, thread::current().id(), Arc::clone(&left));
                let (_, spent) = train_rank(comm, &config, &data, &mut Silent)?;
                Ok((spent.steps, left.load(Relaxed)))
            })
        });
        // Two ranks in a ring send each other half of the numbers, twice.
        assert_eq!(left.unwrap(), [(20, 20 * early); 2], "{model}");
    }
}

#[test]
fn replicas_by_kernels_train_as_those_on_cores() {
    let Some(gpu) = opencl() else { return };
    let device = gpu.about().id.parse().unwrap();
    for (model, size) in Model::ALL.into_iter().zip([2, 3].into_iter().cycle()) {
        let (base, data) = twenty_steps(model);
        let cores = config(Settings { epochs: 1, ..base.settings });
        let wanted = all(size, &cores, &data).unwrap().swap_remove(0);
        let ranks = all(size, &Config { device, ..cores }, &data).unwrap();
        for rank in &ranks {
            assert!(rank.weights == ranks[0].weights, "ranks differ: {model}, {size}");
            let far = largest(&rank.weights, &wanted.weights);
            assert!(far < 1e-4, "{model}, {size} ranks: {far}");
        }
        let [found, wanted] = [&ranks[0], &wanted].map(|end| end.history[0].train_loss);
        assert!((found - wanted).abs() < 1e-4, "{model}: a loss of {found}, not {wanted}");
    }
    // A run goes on bit for bit.
    let (base, data) = twenty_steps(Model::Mlp);
    let dropped = Settings { dropout: 0.5, ..base.settings };
    let with = Config { device, ..config(dropped.clone()) };
    let (whole, _) = train_threads(2, &with, &data, &mut Silent).unwrap();
    assert!(resumed(&with, &data, 2, 2).weights == whole.weights);
    let one = alone(&with, &data, &mut Silent).unwrap();
    let far = largest(&whole.weights, &one.weights);
    assert!(far < 1e-4, "one device: {far}");
    let narrow = Settings { precision: Precision::Bf16, ..dropped };
    let said = train_threads(2, &Config { device, ..config(narrow) }, &data, &mut Silent);
    assert!(said.unwrap_err().to_string().contains("cores so far, not for"));
}

#[test]
fn choices_that_cannot_work_get_a_sentence() {
    let data = data::drawn(20, 10, 1);
    let said = |size, settings| {
        let result = train_threads(size, &config(settings), &data, &mut Silent);
        result.unwrap_err().to_string()
    };
    assert!(said(0, Settings::default()).contains("--replicas"));
    assert!(said(2, Settings { batch: 0, ..Settings::default() }).contains("--batch"));
    let dfdx = Settings { engine: EngineKind::Dfdx, ..Settings::default() };
    assert!(said(2, dfdx).contains("--engine dfdx"));
    // An error of rank 0 alone ends the others, with its own words.
    let nowhere = Config { run: Some("/dev/null/run".into()), ..config(settings(Model::Mlp)) };
    let words = train_threads(3, &nowhere, &data, &mut Silent).unwrap_err().to_string();
    assert!(words.contains("/dev/null/run"), "{words}");
    // A divergence is one device's, in one device's words.
    let wild = config(Settings { lr: 1e30, ..settings(Model::Mlp) });
    let words = train_threads(2, &wild, &data, &mut Silent).unwrap_err().to_string();
    assert!(words.starts_with("the loss became"), "{words}");
}

#[test]
fn a_rank_that_panics_ends_the_others_with_its_words() {
    let begun = std::time::Instant::now();
    let failed = threads::run(3, |mut comm| {
        let rank = comm.rank();
        in_own_pool(rank, 1, || {
            assert!(rank.0 != 2, "no more of this");
            comm.barrier()
        })
    });
    assert_eq!(failed.unwrap_err().to_string(), "rank 2 panicked: no more of this");
    assert!(begun.elapsed().as_secs() < 30);
}
