//! The studies of this chapter: many runs that differ in one choice, over several seeds.

use crate::{
    Error,
    config::{Model, Schedule, Settings},
    learning::{metrics::Epoch, optimizer::Rule},
    runner::{job::Config, outcome::Outcome, train::train_on, watch::Silent},
};
use lab::{
    Device, Experiment, Recorder, Result, Samples, data::DataSet, key::Quantity, record::ParamList,
};
use std::{
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

lab::keys! {
    /// Test accuracy of each model with its recipe.
    MODELS: measured "training.models", Share, ["model", "device", "epochs"];
    /// The same after each epoch.
    MODELS_CURVE: measured "training.models.curve", Share, ["model", "epoch"];
    /// The number of trained parameters of each model.
    MODELS_PARAMETERS: counted "training.models.parameters", Count, ["model"];
    /// Images per second, by batch size.
    pub SPEED: measured "training.speed", ImagesPerSecond, ["model", "device", "batch"];
    /// Seconds of an epoch in the recipe's batches.
    SPEED_EPOCH: measured "training.speed.epoch", Seconds, ["model", "device"];
    /// Test accuracy with each optimizer.
    pub OPTIMIZERS: measured "training.optimizers", Share, ["optimizer", "lr"];
    /// Training loss after each epoch.
    OPTIMIZERS_LOSS: measured "training.optimizers.loss", Number, ["optimizer", "epoch"];
    /// Test accuracy with a constant or a falling learning rate.
    SCHEDULE: measured "training.schedule", Share, ["schedule", "lr"];
    /// The same after each epoch.
    SCHEDULE_ACCURACY: measured "training.schedule.accuracy", Share, ["schedule", "lr", "epoch"];
    /// Test accuracy by learning rate and batch.
    pub MAP: measured "training.map", Share, ["batch", "lr", "epochs"];
    /// Test accuracy of a network trained on few images, by remedy.
    OVERFIT: measured "training.overfit", Share, ["cure"];
    /// The accuracy at some epochs.
    OVERFIT_ACCURACY: measured "training.overfit.accuracy", Share, ["cure", "epoch", "set"];
    OVERFIT_LOSS: measured "training.overfit.loss", Number, ["cure", "epoch", "set"];
}

/// The experiments, in the order of the page.
pub fn studies() -> Vec<Experiment> {
    lab::experiments! {
        full MODELS.name => &[MODELS, MODELS_CURVE, MODELS_PARAMETERS], models,
            "how accurate each model is on MNIST with its recipe, over several seeds";
        full SPEED.name => &[SPEED, SPEED_EPOCH], speed,
            "the training throughput of each model, by batch size";
        full OPTIMIZERS.name => &[OPTIMIZERS, OPTIMIZERS_LOSS], optimizers,
            "how five optimizers go down the same hill";
        full SCHEDULE.name => &[SCHEDULE, SCHEDULE_ACCURACY], schedules,
            "what a falling learning rate gains";
        full MAP.name => &[MAP], map,
            "what learning rate and batch size do to the accuracy, over several seeds";
        full OVERFIT.name => &[OVERFIT, OVERFIT_ACCURACY, OVERFIT_LOSS], overfit,
            "how a network overfits a thousand images, and what helps against it";
    }
}

/// Trains each of these, [`side_by_side`].
///
/// # Errors
/// As [`train_on`], of one of them.
pub fn train_all(rec: &Recorder, data: &DataSet, all: &[Settings]) -> Result<Vec<Outcome>> {
    let on = |settings: &Settings| {
        let (settings, device) = (settings.clone(), rec.device);
        train_on(&Config { settings, device, ..Config::default() }, data, &mut Silent)
    };
    let tell = |run: &str, settings: &Settings| {
        let Settings { model, optimizer, batch, lr, seed, .. } = settings;
        rec.note(
            "trained",
            &[
                ("run", &run),
                ("model", model),
                ("optimizer", optimizer),
                ("batch", batch),
                ("lr", lr),
                ("seed", seed),
            ],
        );
    };
    side_by_side(rec.device, all, on, tell)
}

/// Does `work` on each of these, as many at a time as the CPU has cores, each on one thread: that is faster than one after
/// the other on all threads, and gives the same bits. A GPU does one after the other. `tell` hears `3/15` and the job
/// after each.
///
/// # Errors
/// What the work fails with.
pub fn side_by_side<J: Sync, T: Send>(
    device: Device,
    all: &[J],
    work: impl Fn(&J) -> Result<T, Error> + Sync,
    tell: impl Fn(&str, &J),
) -> Result<Vec<T>> {
    let workers = match device {
        Device::Cpu => thread::available_parallelism().map_or(1, usize::from),
        _ => 1,
    };
    let (next, (send, receive)) = (AtomicUsize::new(0), mpsc::channel());
    let mut outcomes: Vec<Option<T>> = all.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((at, job)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    all.get(at).map(|job| (at, job))
                } {
                    let outcome = match workers {
                        1 => work(job),
                        _ => alone(|| work(job)),
                    };
                    // The receiver is gone once another run has failed.
                    if send.send((at, outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        for (done, (at, outcome)) in receive.into_iter().enumerate() {
            tell(&format!("{}/{}", done + 1, all.len()), &all[at]);
            outcomes[at] = Some(outcome?);
        }
        Ok::<_, Error>(())
    })?;
    Ok(outcomes.into_iter().flatten().collect())
}

/// Does `work` with a pool of one thread.
fn alone<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|e| Error::Config(format!("a thread can't be started ({e})")))?;
    pool.install(work)
}

/// The settings from several seeds.
pub fn seeds(settings: &Settings, count: u64) -> Vec<Settings> {
    (0..count).map(|seed| Settings { seed, ..settings.clone() }).collect()
}

/// The test accuracies of runs that differ in their seed alone.
pub fn accuracies(runs: &[Outcome]) -> Samples {
    Samples(runs.iter().filter_map(Outcome::test_accuracy).collect())
}

/// Records a metric of each epoch, as far as one of the runs came.
pub fn record_epochs(
    rec: &mut Recorder,
    quantity: &Quantity,
    runs: &[Outcome],
    of: impl Fn(&Epoch) -> f64,
) {
    let epochs = runs.iter().map(|run| run.history.len()).max().unwrap_or(0);
    for at in 0..epochs {
        rec.record(quantity.clone().with("epoch", at + 1), at_epoch(runs, at, &of));
    }
}

/// A metric of the epoch with this index (from 0) in each run that came so far.
pub fn at_epoch(runs: &[Outcome], at: usize, of: impl Fn(&Epoch) -> f64) -> Samples {
    Samples(runs.iter().filter_map(|run| run.history.get(at)).map(of).collect())
}

/// Seeds of the models, the schedules and the remedies.
const SEEDS: u64 = 5;

fn models(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(MODELS)? else { return Ok(()) };
    // The slow ones are the last of the list: they go first, so that no core waits for them.
    let all: Vec<Settings> =
        Model::ALL.iter().rev().flat_map(|model| seeds(&Settings::of(*model), SEEDS)).collect();
    let runs = train_all(rec, &data, &all)?;
    for model in Model::ALL {
        let runs: Vec<Outcome> = runs.iter().filter(|run| run.model == model).cloned().collect();
        let (device, epochs) = (rec.device, Settings::of(model).epochs);
        let list: ParamList = &[("model", &model), ("device", &device), ("epochs", &epochs)];
        rec.record(MODELS.at(list), accuracies(&runs));
        let learned = runs.first().map_or(0, |run| run.learned);
        rec.one(MODELS_PARAMETERS.at(&[("model", &model)]), learned as f64);
        let curve = MODELS_CURVE.at(&[("model", &model)]);
        record_epochs(rec, &curve, &runs, |epoch| epoch.test_accuracy);
    }
    Ok(())
}

/// Batches to time each model with.
const BATCHES: [usize; 5] = [8, 32, 128, 512, 2048];
/// Images of an epoch.
const IMAGES: f64 = 60_000.0;

fn speed(rec: &mut Recorder) -> Result<()> {
    let data = rec.data_set()?;
    // The test is not what is timed.
    let data = DataSet { test: data.test.first(10), ..data };
    // The device that was asked for comes first, and what is measured is not lost with what may take too long.
    let mut devices = vec![rec.device];
    if rec.device != Device::Cpu {
        devices.push(Device::Cpu);
    }
    for device in devices {
        for model in Model::ALL {
            for batch in BATCHES {
                let list: ParamList = &[("model", &model), ("device", &device), ("batch", &batch)];
                rec.note_at(SPEED.at(list));
                let rates = rates(model, device, batch, &data)?;
                rec.record(SPEED.at(list), rates.clone());
                if batch == Settings::of(model).batch {
                    let list: ParamList = &[("model", &model), ("device", &device)];
                    rec.record(SPEED_EPOCH.at(list), rates.map(|rate| IMAGES / rate));
                }
            }
            rec.keep()?;
        }
    }
    Ok(())
}

/// Images per second of a model that trains on a device, in five parts of about a third of a second.
///
/// # Errors
/// As [`train_on`].
pub fn rates(model: Model, device: Device, batch: usize, data: &DataSet) -> Result<Samples, Error> {
    let recipe = Settings::of(model);
    let run = |limit: usize, epochs: usize| {
        let settings = Settings { batch, epochs, limit: Some(limit), ..recipe.clone() };
        let outcome =
            train_on(&Config { settings, device, ..Config::default() }, data, &mut Silent)?;
        let rates = outcome.history.iter().map(|epoch| epoch.images_per_second);
        Ok::<_, Error>(rates.collect::<Vec<f64>>())
    };
    // A first look, which also warms up; then whole batches of about a third of a second.
    let first = run(batch.min(data.train.len()), 2)?[1];
    let batches = (0.3 * first / batch as f64).ceil().clamp(1.0, 1e6) as usize;
    let limit = (batches * batch).min(data.train.len());
    Ok(Samples(run(limit, 6)?.split_off(1)))
}

fn optimizers(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(OPTIMIZERS)? else { return Ok(()) };
    for rule in Rule::ALL {
        let decay = if rule == Rule::AdamW { 0.01 } else { 0.0 };
        let base =
            Settings { optimizer: rule, lr: rule.usual_rate(), decay, ..Settings::default() };
        let runs = train_all(rec, &data, &seeds(&base, 3))?;
        let list: ParamList = &[("optimizer", &rule), ("lr", &base.lr)];
        rec.record(OPTIMIZERS.at(list), accuracies(&runs));
        let losses = OPTIMIZERS_LOSS.at(&[("optimizer", &rule)]);
        record_epochs(rec, &losses, &runs, |epoch| epoch.train_loss);
    }
    Ok(())
}

fn schedules(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(SCHEDULE)? else { return Ok(()) };
    let recipe = Settings::of(Model::Mlp);
    for schedule in Schedule::ALL {
        for lr in [Settings::default().lr, recipe.lr] {
            let base = Settings { lr, schedule, ..recipe.clone() };
            let runs = train_all(rec, &data, &seeds(&base, SEEDS))?;
            let list: ParamList = &[("schedule", &schedule), ("lr", &lr)];
            rec.record(SCHEDULE.at(list), accuracies(&runs));
            let curve = SCHEDULE_ACCURACY.at(list);
            record_epochs(rec, &curve, &runs, |epoch| epoch.test_accuracy);
        }
    }
    Ok(())
}

/// The learning rates of the map.
pub const RATES: [f64; 7] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];
/// Its batches.
pub const MAP_BATCHES: [usize; 5] = [32, 128, 512, 2048, 8192];

fn map(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(MAP)? else { return Ok(()) };
    let (epochs, count) = (3, 3);
    for batch in MAP_BATCHES {
        let cells = RATES.iter().flat_map(|lr| {
            seeds(&Settings { lr: *lr, batch, epochs, ..Settings::default() }, count)
        });
        let runs = train_all(rec, &data, &cells.collect::<Vec<_>>())?;
        for (lr, runs) in RATES.iter().zip(runs.chunks(count as usize)) {
            let list: ParamList = &[("batch", &batch), ("lr", lr), ("epochs", &epochs)];
            rec.record(MAP.at(list), accuracies(runs));
        }
    }
    Ok(())
}

/// What a remedy changes.
type Cure = fn(&mut Settings);

/// What helps against overfitting: a name, and what it changes. Together they do what each does alone.
/// Early stopping holds out a sixth of the images, so two more runs show what that sixth is worth.
pub const CURES: [(&str, Cure); 8] = [
    ("none", |_| ()),
    ("decay", decays),
    ("dropout", drops),
    ("augmentation", augments),
    ("early stopping", stops),
    ("five sixths", |s| s.limit = s.limit.map(|all| all - all / 6)),
    ("all but stopping", |s| [decays, drops, augments].iter().for_each(|cure| cure(s))),
    ("all", |s| [decays, drops, augments, stops].iter().for_each(|cure| cure(s))),
];

fn decays(settings: &mut Settings) {
    (settings.optimizer, settings.decay) = (Rule::AdamW, 0.5);
}

fn drops(settings: &mut Settings) {
    settings.dropout = 0.5;
}

fn augments(settings: &mut Settings) {
    settings.augment = true;
}

fn stops(settings: &mut Settings) {
    settings.patience = Some(20);
}

/// One metric of an epoch.
type Metric = fn(&Epoch) -> f64;

/// Epochs of this study whose metrics are kept: close together at first.
pub const LOOKS: [usize; 13] = [1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 65, 95, 140];

fn overfit(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(OVERFIT)? else { return Ok(()) };
    let base = Settings {
        limit: Some(1000),
        batch: 32,
        epochs: LOOKS[LOOKS.len() - 1],
        dropout: 0.0,
        ..Settings::default()
    };
    for (cure, change) in CURES {
        let mut changed = base.clone();
        change(&mut changed);
        let runs = train_all(rec, &data, &seeds(&changed, SEEDS))?;
        rec.record(OVERFIT.at(&[("cure", &cure)]), accuracies(&runs));
        // As far as every run came.
        let common = runs.iter().map(|run| run.history.len()).min().unwrap_or(0);
        for epoch in LOOKS.into_iter().filter(|epoch| *epoch <= common) {
            let sets: [(&str, Metric, Metric); 2] = [
                ("train", |e| e.train_accuracy, |e| e.train_loss),
                ("test", |e| e.test_accuracy, |e| e.test_loss),
            ];
            for (set, accuracy, loss) in sets {
                let list: ParamList = &[("cure", &cure), ("epoch", &epoch), ("set", &set)];
                rec.record(OVERFIT_ACCURACY.at(list), at_epoch(&runs, epoch - 1, accuracy));
                rec.record(OVERFIT_LOSS.at(list), at_epoch(&runs, epoch - 1, loss));
            }
        }
    }
    Ok(())
}
