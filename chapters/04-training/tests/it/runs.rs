//! A run that is interrupted, killed, damaged or badly chosen.

use backprop::random::SplitMix64;
use lab::{
    data::{self, DataSet},
    run::Event,
    testing::soon,
};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::LazyLock,
    time::Duration,
};
use training::{
    Classifier, Config, Error, Model, Outcome, Settings, Silent, Start, Watcher,
    checkpoint::Checkpoint,
    train_on,
    watch::{Begin, Epoch, Step},
};

/// A few hundred drawn digits; 7 steps an epoch, the last of them short.
static DATA: LazyLock<DataSet> = LazyLock::new(|| data::drawn(400, 100, 3));

fn settings() -> Settings {
    Settings { epochs: 4, batch: 64, seed: 11, ..Settings::default() }
}

/// A run of these settings that is kept nowhere.
fn of(settings: Settings) -> Config {
    Config { settings, ..Config::default() }
}

fn config(run: Option<&Path>, start: Start) -> Config {
    Config { run: run.map(Path::to_owned), start, ..of(settings()) }
}

/// What a run is refused with.
fn said(config: &Config, data: &DataSet) -> String {
    train_on(config, data, &mut Silent).unwrap_err().to_string()
}

/// The drawn digits with other images to train on.
fn with_train(train: data::Split) -> DataSet {
    DataSet { train, ..DATA.clone() }
}

/// The share of the test set that the model reads right.
fn accuracy(model: &Classifier) -> f64 {
    let read = model.digits(&DATA.test.scaled()).unwrap();
    let right = read.iter().zip(&DATA.test.labels).filter(|(a, b)| **a == usize::from(**b)).count();
    right as f64 / DATA.test.len() as f64
}

/// Stops after this many steps.
pub struct StopAfter(pub usize);

impl Watcher for StopAfter {
    fn stop(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

/// The run without any interruption.
static WHOLE: LazyLock<Outcome> =
    LazyLock::new(|| train_on(&config(None, Start::New), &DATA, &mut Silent).unwrap());

/// Everything of the metrics that does not depend on the clock.
fn metrics(outcome: &Outcome) -> Vec<[f64; 4]> {
    let of = |e: &Epoch| [e.train_loss, e.train_accuracy, e.test_loss, e.test_accuracy];
    outcome.history.iter().map(of).collect()
}

#[test]
fn learns_drawn_digits() {
    let history = &WHOLE.history;
    assert_eq!(history.len(), 4);
    assert!(history.windows(2).all(|pair| pair[1].train_loss < pair[0].train_loss), "{history:?}");
    assert!(history[3].test_accuracy > 0.5, "{history:?}");
    assert!(history.iter().all(|e| e.seconds > 0.0 && e.images_per_second > 0.0));
    let last = WHOLE.summary();
    let accuracy =
        format!("test accuracy {:.2}% after 4 epochs in ", 100.0 * history[3].test_accuracy);
    assert!(last.starts_with(&accuracy) && last.ends_with(" s"), "{last}");
}

#[test]
fn the_same_seed_gives_the_same_weights_and_another_one_others() {
    let again = train_on(&config(None, Start::New), &DATA, &mut Silent).unwrap();
    assert_eq!(again.weights, WHOLE.weights);
    let other = of(Settings { seed: 12, ..settings() });
    let other = train_on(&other, &DATA, &mut Silent).unwrap();
    assert_ne!(other.weights, WHOLE.weights);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    // Batches of 256, so that the products are large enough to be shared out.
    let config = of(Settings { epochs: 2, batch: 256, ..settings() });
    let weights = [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train_on(&config, &DATA, &mut Silent).unwrap().weights)
    });
    assert_eq!(weights[0], weights[1]);
    assert_eq!(weights[0], weights[2]);
}

#[test]
fn a_finished_run_can_go_on_for_more_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let mut short = config(Some(folder.path()), Start::New);
    short.settings.epochs = 2;
    train_on(&short, &DATA, &mut Silent).unwrap();
    let longer = train_on(&config(Some(folder.path()), Start::Resume), &DATA, &mut Silent).unwrap();
    assert_eq!(longer.weights, WHOLE.weights);
    // And once more, with nothing left to do.
    let again = train_on(&config(Some(folder.path()), Start::Resume), &DATA, &mut Silent).unwrap();
    assert_eq!(again.weights, WHOLE.weights);
    assert_eq!(again.summary(), longer.summary());
}

#[test]
fn a_run_leaves_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("deep/run");
    let outcome = train_on(&config(Some(&run), Start::New), &DATA, &mut Silent).unwrap();
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["settings"]["batch"], 64);
    let [part] = &lines[0]["parts"].as_array().unwrap()[..] else { panic!("{}", lines[0]) };
    assert_eq!((&part["device"], &part["after"]), (&"cpu".into(), &0.into()));
    assert!(part["data"].as_str().unwrap().contains("drawn"), "{part}");
    assert_eq!(lines[4]["epoch"], 4);
    assert_eq!(lines[4]["test_accuracy"].as_f64(), outcome.test_accuracy());
    let svg = fs::read_to_string(run.join("curves.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("loss") && svg.contains("accuracy"), "{svg}");
    // The stored model is exactly as accurate as the run reports.
    let model = Classifier::load(&run.join("model.safetensors")).unwrap();
    assert_eq!(Some(accuracy(&model)), outcome.test_accuracy());
    let mut names = lab::testing::names(&run);
    names.retain(|name| !name.starts_with("events.out.tfevents."));
    assert_eq!(names, [".lock", "checkpoint", "curves.svg", "metrics.jsonl", "model.safetensors"]);
}

#[test]
fn a_run_and_its_second_part_have_one_curve() {
    let folder = tempfile::tempdir().unwrap();
    let of = |start| Config {
        settings: Settings { epochs: 2, batch: 25, ..settings() }, // an epoch has 16 steps
        ..config(Some(folder.path()), start)
    };
    let first = train_on(&of(Start::New), &DATA, &mut StopAfter(21)).unwrap();
    assert_eq!(first.stopped, Some((2, 5)));
    let whole = train_on(&of(Start::Resume), &DATA, &mut Silent).unwrap();
    let events = Checkpoint::load(folder.path()).unwrap().header.journal.events;
    let names = |event: &Event| event.points.iter().map(|(name, _)| name.clone()).collect();
    let names: Vec<Vec<String>> = events.iter().map(names).collect();
    let epoch = ["loss/train", "loss/test", "accuracy/train", "accuracy/test", "images_per_second"];
    assert_eq!(names, [&epoch[..], &["loss/step", "learning_rate"], &epoch]);
    assert_eq!(events.iter().map(|event| event.step).collect::<Vec<_>>(), [16, 20, 32]);
    for (event, end) in [(&events[0], &whole.history[0]), (&events[2], &whole.history[1])] {
        let wanted = [end.train_loss, end.test_loss, end.train_accuracy, end.test_accuracy];
        let found = event.points.iter().zip(wanted);
        assert!(found.into_iter().all(|((_, found), wanted)| found.to_bits() == wanted.to_bits()));
    }
}

#[test]
fn the_watcher_sees_every_step_and_epoch() {
    #[derive(Default)]
    struct Count {
        begin: Option<Begin>,
        steps: Vec<(usize, usize)>,
        epochs: usize,
        ends: usize,
    }
    impl Watcher for Count {
        fn begin(&mut self, begin: &Begin) {
            self.begin = Some(begin.clone());
        }
        fn step(&mut self, step: &Step) {
            assert!(step.loss > 0.0 && step.tally.seen > 0);
            self.steps.push((step.epoch, step.step));
        }
        fn epoch(&mut self, _: &Epoch) {
            self.epochs += 1;
        }
        fn end(&mut self, _: &Outcome) {
            self.ends += 1;
        }
    }
    let mut count = Count::default();
    train_on(&config(None, Start::New), &DATA, &mut count).unwrap();
    let begin = count.begin.unwrap();
    assert_eq!((begin.steps, begin.images, begin.done), (7, (400, 100), (0, 0)));
    let all: Vec<_> = (1..=4).flat_map(|epoch| (1..=7).map(move |step| (epoch, step))).collect();
    assert_eq!(count.steps, all);
    assert_eq!((count.epochs, count.ends), (4, 1));
}

#[test]
fn a_limit_takes_images_by_the_seed() {
    let limited = of(Settings { limit: Some(150), epochs: 1, ..settings() });
    let seed = settings().seed;
    let first = with_train(DATA.train.sample(150, seed));
    let whole = of(Settings { epochs: 1, ..settings() });
    let one = train_on(&limited, &DATA, &mut Silent).unwrap();
    let two = train_on(&whole, &first, &mut Silent).unwrap();
    assert_eq!(one.weights, two.weights);
}

#[test]
fn a_loss_that_explodes_stops_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let wild = |lr: f64| {
        let run = Some(folder.path().join(lr.to_string()));
        Config { run, ..of(Settings { lr, ..settings() }) }
    };
    for lr in [1e3, 1e38] {
        let error = train_on(&wild(lr), &DATA, &mut Silent).unwrap_err();
        let Error::Diverged { epoch, step, .. } = error else { panic!("{error}") };
        assert_eq!((epoch, step), (1, 2), "{error}"); // the first step breaks it, the second shows it
        let said = error.to_string();
        assert!(said.contains("learning rate of") && said.contains("--lr"), "{said}");
    }
    // A decay that is too large is named, with a step and an epoch that there were.
    let decays = Settings { decay: 1e23, ..settings() };
    let run = folder.path().join("decay");
    let said = said(&Config { run: Some(run), ..of(decays) }, &DATA);
    assert!(said.contains("--decay 0.01") && !said.contains("--lr"), "{said}");
    assert!(!said.contains("step 0 "), "{said}");
    let config = Config { checkpoint_every: Duration::ZERO, ..wild(1e38) };
    let config = Config { start: Start::Replace, ..config };
    train_on(&config, &DATA, &mut Silent).unwrap_err();
    let kept = Checkpoint::load(config.run.as_deref().unwrap()).unwrap();
    assert!(kept.weights.iter().all(|weight| weight.is_finite()), "broken weights were kept");
}

#[test]
fn a_resume_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path();
    let resume = config(Some(run), Start::Resume);
    assert!(said(&resume, &DATA).contains("no checkpoint to go on from"));
    assert!(said(&config(None, Start::Resume), &DATA).contains("without a folder"));
    train_on(&config(Some(run), Start::New), &DATA, &mut StopAfter(5)).unwrap();
    let before = fs::read(run.join("checkpoint")).unwrap();

    assert!(said(&config(Some(run), Start::New), &DATA).contains("--resume"));
    let other = Settings { batch: 32, ..settings() };
    assert!(
        said(&Config { settings: other, ..resume.clone() }, &DATA).contains("--batch 64, not 32")
    );
    let other = data::drawn(400, 100, 4);
    let oblong = data::Split { rows: 14, cols: 56, ..DATA.train.clone() };
    for (data, part) in [
        (with_train(other.train), "another training set (400 images"),
        (DataSet { test: other.test, ..DATA.clone() }, "another test set (100 images of 28×28, "),
        (with_train(DATA.train.first(399)), "; now 399 images of 28×28"),
        (with_train(oblong), "; now 400 images of 14×56"),
    ] {
        let said = said(&resume, &data);
        assert!(said.contains(part) && said.contains("--data"), "{said}");
    }
    assert_eq!(fs::read(run.join("checkpoint")).unwrap(), before, "a refusal changed it");
    assert_eq!(train_on(&resume, &DATA, &mut Silent).unwrap().weights, WHOLE.weights);
}

#[test]
fn choices_and_places_that_cannot_work_are_refused() {
    let zero = said(&of(Settings { batch: 0, ..settings() }), &DATA);
    assert!(zero.contains("--batch"), "{zero}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let below = said(&config(Some(&file.join("run")), Start::New), &DATA);
    assert!(below.contains("file") && !below.contains('\n'), "{below}");
    let wide = DataSet {
        test: data::Split { rows: 14, cols: 56, ..DATA.test.clone() },
        train: data::Split { rows: 27, cols: 28, ..DATA.train.clone() },
        ..DATA.clone()
    };
    let said = said(&config(None, Start::New), &wide);
    assert!(said.contains("27×28"), "{said}");
}

#[test]
fn the_readers_own_files_are_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    lab::testing::put_set(folder.path(), &DATA.train, &DATA.test);
    let config = Config { data: Some(folder.path().to_owned()), ..config(None, Start::New) };
    let outcome = training::train(&config, &mut Silent).unwrap();
    assert_eq!(outcome.weights, WHOLE.weights);
    assert!(outcome.data.contains("not the published files"), "{}", outcome.data);
    assert_eq!(outcome.source.name(), "files");
    let nowhere = Config { data: Some(folder.path().join("none")), ..config };
    assert!(training::train(&nowhere, &mut Silent).is_err());
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_build_without_cuda_says_so() {
    let config = Config { device: lab::Device::Cuda(0), ..config(None, Start::New) };
    let said = said(&config, &DATA);
    assert!(said.contains("--features cuda"), "{said}");
    assert_eq!(training::gpus(), 0);
}

#[cfg(feature = "cuda")]
#[test]
fn cuda_learns_what_the_cpu_learns() {
    if training::gpus() == 0 {
        let config = Config { device: lab::Device::Cuda(0), ..config(None, Start::New) };
        let said = said(&config, &DATA);
        assert!(said.contains("there is no device cuda:0"), "{said}");
        lab::testing::need::<()>(lab::testing::Tool::Cuda, Err("there is none to compare with"));
        return;
    }
    let cuda = Config { device: lab::Device::Cuda(0), ..config(None, Start::New) };
    let gpu = train_on(&cuda, &DATA, &mut Silent).unwrap();
    // The same start, order and dropout; sums are taken in another order.
    for (cpu, gpu) in metrics(&WHOLE).iter().zip(metrics(&gpu)) {
        assert!(
            (cpu[0] - gpu[0]).abs() < 1e-3 && (cpu[2] - gpu[2]).abs() < 1e-3,
            "{cpu:?} {gpu:?}"
        );
    }
    let far = gpu.weights.iter().zip(&WHOLE.weights).map(|(a, b)| (a - b).abs());
    let far = far.fold(0.0, f32::max);
    assert!(far < 1e-2, "weights differ by {far}");
    // A checkpoint of the GPU goes on on the CPU.
    let folder = tempfile::tempdir().unwrap();
    let stopped = Config { run: Some(folder.path().to_owned()), ..cuda };
    train_on(&stopped, &DATA, &mut StopAfter(10)).unwrap();
    let cpu = train_on(&config(Some(folder.path()), Start::Resume), &DATA, &mut Silent).unwrap();
    assert_eq!(cpu.history.len(), 4);
}

/// Ten epochs of ten steps.
#[cfg(feature = "cuda")]
#[test]
fn every_model_learns_on_cuda_what_it_learns_on_the_cpu() {
    if training::gpus() == 0 {
        lab::testing::need::<()>(lab::testing::Tool::Cuda, Err("there is none to compare with"));
        return;
    }
    let data = data::drawn(80, 40, 5);
    for model in Model::ALL {
        // Plain steps: Adam's are as long for a gradient that is nothing but rounding as for any other.
        let settings = Settings {
            model,
            optimizer: training::optimizer::Rule::Sgd,
            schedule: training::schedule::Schedule::Constant,
            lr: 0.01,
            epochs: 10,
            batch: 8,
            ..Settings::of(model)
        };
        let [cpu, gpu] = [lab::Device::Cpu, lab::Device::Cuda(0)].map(|device| {
            train_on(&Config { device, ..of(settings.clone()) }, &data, &mut Silent).unwrap()
        });
        for (a, b) in metrics(&cpu).iter().zip(metrics(&gpu)) {
            assert!((a[0] - b[0]).abs() < 1e-3 * a[0].max(1.0), "{model}: {a:?} {b:?}");
        }
        for (a, b) in cpu.weights.iter().zip(&gpu.weights) {
            assert!((a - b).abs() < 1e-3 * a.abs().max(1.0), "{model}: {a} {b}");
        }
    }
}

/// Epochs of a run that can be killed many times.
const LONG: usize = 20;

/// Images of a batch that is too large for some gigabytes.
const MANY: usize = 30_000;

/// Not a test of its own: a process for the tests below to start and to kill.
#[test]
#[ignore = "started by other tests"]
fn child() {
    let Some(run) = std::env::var_os("TRAINING_TEST_RUN") else { return };
    let start =
        if Path::new(&run).join("checkpoint").exists() { Start::Resume } else { Start::New };
    let mut config = Config {
        // A checkpoint after every step: most of the child's time is spent in writing.
        checkpoint_every: Duration::ZERO,
        settings: Settings { epochs: LONG, ..settings() },
        ..config(Some(Path::new(&run)), start)
    };
    let mut data = DATA.clone();
    if let Ok(model) = std::env::var("TRAINING_TEST_MODEL") {
        let settings = Settings::of(model.parse().unwrap());
        config.settings = Settings { batch: MANY, ..settings };
        let (images, labels) = ([0, 1].repeat(392 * MANY), vec![0; MANY]);
        data.train = data::Split { images, labels, ..data.train };
    }
    if let Err(error) = train_on(&config, &data, &mut Silent) {
        println!("said: {error}");
        std::process::exit(3);
    }
}

/// The program, which may need other words first, starts [`child`] with this folder.
fn as_child(mut program: Command, run: &Path) -> Command {
    program.args(["--exact", "runs::child", "--ignored", "--nocapture"]);
    program.env("TRAINING_TEST_RUN", run);
    program
}

fn start_child(run: &Path) -> Child {
    let mut command = as_child(Command::new(std::env::current_exe().unwrap()), run);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_killed_process_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let checkpoint = run.join("checkpoint");
    let written = || fs::metadata(&checkpoint).and_then(|m| m.modified()).ok();
    let mut random = SplitMix64::new(20);
    for kill in 1..=20 {
        let before = written();
        let mut child = start_child(&run);
        // Let it write at least one checkpoint of its own, then kill it at a random moment: in a step, in a test,
        // in the middle of a write.
        soon("the child writes", || {
            assert!(child.try_wait().unwrap().is_none(), "it ended before kill {kill}");
            written() != before
        });
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        Checkpoint::load(&run).unwrap();
    }
    let long = |start, run| Config { run, start, ..of(Settings { epochs: LONG, ..settings() }) };
    let resumed = train_on(&long(Start::Resume, Some(run)), &DATA, &mut Silent).unwrap();
    let whole = train_on(&long(Start::New, None), &DATA, &mut Silent).unwrap();
    assert!(resumed.weights == whole.weights, "the weights differ");
    assert_eq!(metrics(&resumed), metrics(&whole));
}

#[test]
fn a_stopped_run_goes_on_bit_for_bit_whatever_it_trains() {
    // Batch statistics, changed images, a falling rate, held-out images: all of it is a part of the state.
    let held = Settings { patience: Some(1), epochs: 3, batch: 32, ..settings() };
    let resnet = Settings { epochs: 2, warmup: 2, batch: 32, ..Settings::of(Model::Resnet) };
    let rest = [Model::Cnn, Model::Rnn, Model::Transformer];
    let rest = rest.map(|model| Settings { epochs: 2, batch: 32, ..Settings::of(model) });
    let small = with_train(DATA.train.first(120));
    let others = [held, resnet].into_iter().chain(rest);
    // In the middle, at the end of an epoch, after the first step, before the last.
    let stops = [vec![10], vec![7], vec![1, 1, 1], vec![27], vec![3, 11, 4, 6], vec![14, 13]];
    let usual = stops.map(|stops| (settings(), &*DATA, stops)).into_iter();
    for (settings, data, stops) in usual.chain(others.map(|other| (other, &small, vec![5]))) {
        let whole = train_on(&of(settings.clone()), data, &mut Silent).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let run = Some(folder.path().join("run"));
        let part = |start| Config { run: run.clone(), start, ..of(settings.clone()) };
        let mut start = Start::New;
        for stop in &stops {
            let stopped = train_on(&part(start), data, &mut StopAfter(*stop)).unwrap();
            assert!(stopped.stopped.is_some(), "{stops:?}");
            start = Start::Resume;
        }
        let resumed = train_on(&part(start), data, &mut Silent).unwrap();
        assert!(resumed.weights == whole.weights, "{} {stops:?}", settings.model); // too many to print
        assert_eq!(metrics(&resumed), metrics(&whole), "{} {stops:?}", settings.model);
        assert_eq!((resumed.best, resumed.stopped), (whole.best, None));
    }
}

#[test]
fn patience_keeps_the_best_epoch_and_stops() {
    let settings =
        Settings { patience: Some(2), epochs: 60, lr: 0.02, dropout: 0.0, batch: 32, ..settings() };
    let outcome = train_on(&of(settings), &DATA, &mut Silent).unwrap();
    let losses: Vec<f64> =
        outcome.history.iter().map(|epoch| epoch.validation_loss.unwrap()).collect();
    let best = outcome.best.unwrap();
    assert!(losses.iter().all(|loss| losses[best - 1] <= *loss), "{losses:?}");
    assert_eq!(losses.len(), best + 2, "it goes on for two epochs after the best: {losses:?}");
    assert!(losses.len() < 60, "it never stopped");
    assert_eq!(outcome.test_accuracy(), Some(outcome.history[best - 1].test_accuracy));
    // The weights are those of the best epoch, not of the last.
    let model = Classifier::from_weights(Model::Mlp, &outcome.weights).unwrap();
    assert_eq!(Some(accuracy(&model)), outcome.test_accuracy());
    let few = with_train(DATA.train.first(5));
    let said = said(&of(Settings { patience: Some(2), ..Settings::default() }), &few);
    assert!(said.contains("--patience"));
}

/// A process with a limit trains in this folder: what it says, and its exit code.
#[cfg(unix)]
fn limited(limits: &str, run: &Path) -> (String, Option<i32>) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]);
    shell.arg(std::env::current_exe().unwrap());
    let out = as_child(shell, run).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let said = text.lines().find_map(|line| line.split_once("said: "));
    (said.map_or(text.to_string(), |(_, said)| said.to_owned()), out.status.code())
}

/// A disk that is full from the first byte on: the run leaves nothing that another one could stumble over.
#[cfg(unix)]
#[test]
fn a_run_without_room_for_its_first_checkpoint_can_be_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let (said, code) = limited("ulimit -f 16", &run);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("start again") && !said.contains("--resume"), "{said}");
    let again = train_on(&config(Some(&run), Start::New), &DATA, &mut Silent).unwrap();
    assert_eq!(again.weights, WHOLE.weights);
}

#[cfg(unix)]
#[test]
fn a_batch_that_no_memory_holds_gets_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for model in [Model::Cnn, Model::Resnet, Model::Rnn, Model::Transformer] {
        let limits = format!("ulimit -v 2000000; export TRAINING_TEST_MODEL={model}");
        let (said, code) = limited(&limits, &folder.path().join(model.name()));
        assert_eq!(code, Some(3), "{model}: {said}");
        assert!(said.contains("a smaller --batch needs less memory"), "{model}: {said}");
    }
}

#[test]
fn two_trainings_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut first = start_child(&run);
    soon("the child writes", || run.join("checkpoint").exists());
    for start in [Start::New, Start::Resume, Start::Replace] {
        let said = said(&config(Some(&run), start), &DATA);
        assert!(said.contains("another training"), "{said}");
    }
    // The system lets go of the folder when the program is killed.
    first.kill().unwrap();
    first.wait().unwrap();
    let mut resume = config(Some(&run), Start::Resume);
    resume.settings.epochs = LONG;
    train_on(&resume, &DATA, &mut Silent).unwrap();
}

/// A full disk, played by a limit on the size of files.
#[cfg(unix)]
#[test]
fn a_full_disk_costs_one_sentence_and_no_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    train_on(&config(Some(&run), Start::New), &DATA, &mut StopAfter(3)).unwrap();
    let before = Checkpoint::load(&run).unwrap();
    let (said, code) = limited("ulimit -f 512", &run);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("checkpoint") && said.contains("--resume"), "{said}");
    assert_eq!(Checkpoint::load(&run).unwrap(), before);
    assert!(!run.join("checkpoint.part").exists());
}

/// Stops at this batch of a test.
struct StopTesting(usize);

impl Watcher for StopTesting {
    fn stop_testing(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

#[test]
fn a_run_that_is_stopped_while_it_is_tested_ends_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let data = data::drawn(400, 600, 3); // tested in three batches
    let train = |name: &str, start, watcher: &mut dyn Watcher| {
        train_on(&config(Some(&folder.path().join(name)), start), &data, watcher).unwrap()
    };
    let whole = train("whole", Start::New, &mut Silent);
    for (at, epochs) in [(1, 0), (2, 0), (4, 1)] {
        let name = at.to_string();
        let stopped = train(&name, Start::New, &mut StopTesting(at));
        assert_eq!((stopped.history.len(), stopped.stopped), (epochs, Some((epochs + 1, 7))));
        let again = train(&name, Start::Resume, &mut Silent);
        assert!(again.weights == whole.weights && again.stopped.is_none());
        assert_eq!(metrics(&again), metrics(&whole));
    }
}
