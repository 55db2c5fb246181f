use cpu_gpu::gpu::{Kind, testing};
use lab::run::checkpoint::{pack, unpack};
use lab::run::disk::{Fault, fail};
use lab::run::{self, CHECKPOINT, METRICS, MODEL};
use lab::testing::{put, runs};
use language_model::generate::{TOKENIZER, load};
use language_model::runner::checkpoint::{Checkpoint, save};
use language_model::runner::job::{Amount, CHECKPOINT_EVERY, Job, Outcome, train, train_on};
use language_model::train::{Flow, Settings, adamw::AdamW, validation};
use language_model::{Config, Result, Tokenizer, product::Numbers, runner::text::Text};
use multi_gpu::replicas::member::Launcher;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{fs, path::Path, time::Duration};
use tempfile::TempDir;

const CONFIG: Config =
    Config { vocabulary: 300, context: 16, width: 16, heads: 2, layers: 1, hidden: 32 };

/// A workspace of one crate, whose sources are the text.
fn workspace() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let package = "[package]\nname = \"a\"\nversion = \"0.1.0\"\n";
    put(root.path(), "Cargo.toml", package);
    let word = |i: usize| ["apple", "pear", "plum", "quince"][i % 4];
    let line =
        |i: usize| format!("pub fn {}_{}(x: usize) -> usize {{ x + {i} }}\n", word(i), word(i / 7));
    let text: String = (0..300).map(line).collect();
    put(root.path(), "src/lib.rs", text);
    root
}

fn job(root: &Path, folder: &str) -> Job {
    let settings = Settings { batch: 2, length: 16, warmup: 5, ..Settings::default() };
    Job {
        config: CONFIG,
        settings,
        amount: Amount::Tokens(32 * 30),
        root: root.to_owned(),
        text: None,
        folder: root.join("runs").join(folder),
        resume: false,
        threads: 2,
        replicas: None,
        device: None,
        warmup: None,
        checkpoint_every: CHECKPOINT_EVERY,
    }
}

/// So many replicas.
fn many(replicas: usize) -> Option<Launcher> {
    (replicas > 1).then_some(Launcher::Threads(replicas))
}

/// A whole run.
fn done(job: &Job) -> Outcome {
    train(job, false, &mut || false).unwrap()
}

/// Why a run is refused.
fn refused(job: &Job) -> String {
    train(job, false, &mut || false).unwrap_err().to_string()
}

/// Stops a run when it is asked for this time.
fn stops_at(time: u64) -> impl FnMut() -> bool {
    let mut asked = 0;
    move || {
        asked += 1;
        asked == time
    }
}

#[test]
fn a_device_takes_the_same_steps() {
    let Some(gpu) = testing::opencl() else { return };
    let root = workspace();
    let device = Some(gpu.about().id.clone());
    let here = done(&job(root.path(), "here"));
    // A GPU has no second one beside it, maybe; cores do for all replicas.
    for replicas in if gpu.about().kind == Kind::Cpu { 1..3 } else { 1..2 } {
        let folder = |name| root.path().join(format!("runs/{name}-{replicas}"));
        let device = device.clone();
        let replicas = many(replicas);
        let there = Job { device, replicas, folder: folder("there"), ..job(root.path(), "") };
        assert_eq!(train(&there, false, &mut stops_at(11)).unwrap().flow, Flow::Stopped);
        // It goes on where it stopped, and comes to where the cores come to.
        let resumed = Job { resume: true, ..there.clone() };
        let on_device = done(&resumed);
        assert_eq!((on_device.flow, on_device.step), (Flow::Finished, here.step));
        let last = |outcome: &Outcome| outcome.points.last().unwrap().validation;
        assert!((last(&on_device) / last(&here) - 1.0).abs() < 1e-3);
        // And to the same bits as a run on the device that was not stopped.
        let whole = Job { folder: folder("whole"), ..there };
        done(&whole);
        let [a, b] = [&whole, &resumed].map(|job| load(&job.folder).unwrap().0);
        assert_eq!(a, b);
    }
    let there = Job { device, ..job(root.path(), "narrow") };
    let narrow = Settings { numbers: Numbers::Bf16, ..there.settings };
    let said = refused(&Job { settings: narrow, ..there });
    assert!(said.contains("--precision f32"), "{said}");
    let missing = Job { device: Some("tpu".to_owned()), ..job(root.path(), "tpu") };
    let said = refused(&missing);
    assert!(said.contains("no device tpu") && !missing.folder.exists(), "{said}");
}

/// Without a workspace: the folder alone, which the checkpoint knows.
#[test]
fn somebodys_own_folder_is_learned_and_gone_on_with() {
    let (own, runs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for file in 0..3 {
        let line = |i: usize| format!("{} bottles on the wall, take {file} down\n", i * 7 % 99);
        put(own.path(), &format!("{file}.txt"), (0..200).map(line).collect::<String>());
    }
    let job = Job { text: Some(own.path().to_owned()), ..job(runs.path(), "own") };
    assert_eq!(train(&job, false, &mut stops_at(11)).unwrap().flow, Flow::Stopped);
    // The folder moves.
    let moved = runs.path().join("moved");
    fs::rename(own.path(), &moved).unwrap();
    let resumed = Job { resume: true, text: None, ..job };
    let said = refused(&resumed);
    assert!(said.contains("there is no folder") && said.contains("--text"), "{said}");
    let there = Job { text: Some(moved.clone()), ..resumed.clone() };
    assert_eq!(train(&there, false, &mut stops_at(13)).unwrap().flow, Flow::Stopped);
    assert_eq!(done(&resumed).step, 30);
    let text = Text::own(&moved, None, 300).unwrap();
    let note = text.note.unwrap();
    assert!(note.contains("enough for") && note.contains("k parameters"), "{note}");
    // Another text by now.
    put(&moved, "3.txt", "something else altogether, and not to be found before\n".repeat(9));
    let said = refused(&resumed);
    assert!(said.contains("another") && said.contains("put the folder's files back"), "{said}");
    let little = tempfile::tempdir().unwrap();
    put(little.path(), "a.txt", "a few words\n");
    let job = Job { text: Some(little.path().to_owned()), ..self::job(runs.path(), "little") };
    let said = refused(&job);
    assert!(said.contains("at least 17") && said.contains("shorter context"), "{said}");
}

#[test]
fn a_run_that_was_stopped_ends_with_the_same_bits() {
    let root = workspace();
    let whole = job(root.path(), "whole");
    let outcome = done(&whole);
    assert_eq!((outcome.flow, outcome.step, outcome.tokens), (Flow::Finished, 30, 32));
    let (first, last) = (&outcome.points[0], &outcome.points[outcome.points.len() - 1]);
    assert!(last.validation < first.validation, "it learns nothing: {first:?} {last:?}");

    let parts = job(root.path(), "parts");
    assert_eq!(train(&parts, false, &mut stops_at(11)).unwrap().flow, Flow::Stopped);
    let taken = refused(&parts);
    assert!(taken.contains("--resume"), "{taken}");
    let settings = Settings { recompute: Some(2), ..parts.settings }; // in segments from here on
    let resumed = Job { resume: true, settings, ..parts };
    let again = done(&resumed);
    assert_eq!((again.flow, again.step), (Flow::Finished, 30));
    let end = |outcome: &Outcome| outcome.points.last().map(|p| (p.step, p.validation));
    assert_eq!(end(&again), end(&outcome));
    let [a, b] = [&whole, &resumed].map(|job| load(&job.folder).unwrap());
    assert_eq!(a.0, b.0);
    // The last point is the stored model's.
    let text = Text::find(root.path(), None, 300).unwrap();
    let loss = validation::loss(&a.0, &text.validation, 16, 1 << 20, 1).unwrap();
    assert!((loss - last.validation).abs() < 0.2 * loss, "{loss} {last:?}");
}

/// A run, or what is left of it to do.
fn go(job: &Job, text: &Text, stop: &mut dyn FnMut() -> bool) -> Result<Flow> {
    let resume = job.folder.join("checkpoint").exists();
    Ok(train_on(&Job { resume, ..job.clone() }, text, false, stop)?.flow)
}

#[test]
fn a_run_that_ends_anywhere_and_goes_on_leaves_what_a_whole_one_does() {
    let root = workspace();
    let text = Text::find(root.path(), None, 300).unwrap();
    // A few steps, each with a point; and more, with checkpoints of their own between the points.
    for (name, steps, every, stride) in
        [("few", 3, CHECKPOINT_EVERY, 1), ("many", 22, Duration::ZERO, 53)]
    {
        let run = |folder: &Path, stop: Option<usize>| -> Result<bool> {
            let job = Job {
                amount: Amount::Tokens(32 * steps),
                checkpoint_every: every,
                threads: 1,
                folder: folder.to_owned(),
                ..job(root.path(), "")
            };
            Ok(go(&job, &text, &mut stops_at(stop.map_or(0, |step| step as u64)))?
                == Flow::Finished)
        };
        let whole = runs::goes_on_from_anywhere(&root.path().join(name), stride, &run);
        let files = fs::read_dir(&whole).unwrap().count();
        assert_eq!(files, 7, "a tokenizer beside what every run leaves");
        let metrics = fs::read_to_string(whole.join(METRICS)).unwrap();
        assert_eq!(metrics.lines().count() as u64, 1 + steps.div_ceil(steps.div_ceil(20)));
        // And whoever stops it, after whichever step.
        for step in (1..steps as usize).step_by(1 + stride / 10) {
            let folder = root.path().join(format!("{name}-{step}"));
            assert!(!run(&folder, Some(step)).unwrap());
            let model = load(&folder).unwrap().0;
            assert!(model.parameters.iter().all(|value| value.is_finite()));
            assert!(run(&folder, None).unwrap());
            assert!(runs::state(&folder) == runs::state(&whole), "{name}: stopped after {step}");
        }
    }
}

#[test]
fn a_text_with_nothing_to_be_tested_on_is_refused_before_a_step() {
    let root = workspace();
    let whole = Text::find(root.path(), None, 300).unwrap();
    for tokens in 0..3 {
        let text = Text { validation: whole.validation[..tokens].to_vec(), ..whole.clone() };
        let job = job(root.path(), &format!("tested on {tokens}"));
        let ended = train_on(&job, &text, false, &mut || false);
        if tokens == 2 {
            assert_eq!(ended.unwrap().flow, Flow::Finished);
            continue;
        }
        let (said, wanted) = (ended.unwrap_err().to_string(), format!("has {tokens} tokens to be"));
        assert!(said.contains(&wanted) && said.contains("takes 2 or more"), "{said}");
        assert!(!job.folder.join(TOKENIZER).exists(), "it looks like a run");
    }
}

#[test]
fn replicas_are_brought_home_for_a_checkpoint_by_the_clock() {
    let root = workspace();
    let text = Text::find(root.path(), None, 300).unwrap();
    let both = |every, folder| {
        let job = Job { replicas: many(2), checkpoint_every: every, ..job(root.path(), folder) };
        assert_eq!(go(&job, &text, &mut || false).unwrap(), Flow::Finished);
        runs::state(&job.folder)
    };
    let (often, seldom) = (both(Duration::ZERO, "often"), both(CHECKPOINT_EVERY, "seldom"));
    assert!(often == seldom);
    // Killed between two points, it has lost a step at most.
    let job =
        Job { replicas: many(2), checkpoint_every: Duration::ZERO, ..job(root.path(), "killed") };
    fail(Some((150, Fault::Killed)));
    let ended = catch_unwind(AssertUnwindSafe(|| go(&job, &text, &mut || false)));
    fail(None);
    assert!(ended.is_err());
    assert_eq!(go(&job, &text, &mut || false).unwrap(), Flow::Finished);
    assert!(runs::state(&job.folder) == often);
}

#[test]
fn replicas_learn_as_one_model_does() {
    let root = workspace();
    let of = |replicas, folder| {
        let job = Job { replicas: many(replicas), ..job(root.path(), folder) };
        let outcome = done(&job);
        (outcome.step, outcome.points.last().unwrap().validation)
    };
    let ((steps, one), (same, two)) = (of(1, "one"), of(2, "two"));
    assert!(steps == same && (one - two).abs() < 1e-4 * one, "{one} {two}");
    let three = Job { replicas: many(3), ..job(root.path(), "three") };
    let said = refused(&three);
    assert!(said.contains("take 2 at most"), "{said}");
}

#[test]
fn a_run_that_goes_on_is_asked_for_its_memory_too() {
    let root = workspace();
    let config = Config { layers: 32, ..CONFIG };
    let job = Job { config, ..job(root.path(), "long") };
    train(&job, false, &mut stops_at(1)).unwrap();
    let text = Text::find(root.path(), None, 300).unwrap();
    let saved = Checkpoint::load(&job.folder).unwrap();
    let (mut trainer, log) = saved.resume(&job.folder, &text, 1).unwrap();
    // As from a machine with more of it.
    trainer.settings.length = (1 << 23) - 1;
    save(&job.folder, &trainer, &log).unwrap();
    for replicas in [1, 2] {
        let said = refused(&Job { resume: true, replicas: many(replicas), ..job.clone() });
        assert!(said.contains("a step needs") && said.contains("--recompute 4"), "{said}");
    }
    // What no run has written.
    let path = job.folder.join(CHECKPOINT);
    let (mut header, values) = unpack::<Value>(run::Kind::Text, &fs::read(&path).unwrap()).unwrap();
    header["settings"]["steps"] = json!(u64::MAX);
    let resumed = |header: &Value, values: &Vec<f32>| {
        fs::write(&path, pack(run::Kind::Text, header, [values]).unwrap()).unwrap();
        refused(&Job { resume: true, ..job.clone() })
    };
    for (at, value) in [
        ("/settings/accumulate", json!(0)),
        ("/settings/length", json!(0)),
        ("/settings/batch", json!(1_u64 << 62)),
        ("/settings/lr", json!(1e300)),
        ("/settings/seconds", json!(-1.0)),
        ("/settings/steps", json!(0)),
        ("/step", json!(u64::MAX)),
        ("/loss_scale", json!({ "scale": 1.0, "good": 0, "skipped": 2 })),
    ] {
        let mut odd = header.clone();
        *odd.pointer_mut(at).unwrap() = value;
        let said = resumed(&odd, &values);
        assert!(said.contains("damaged or cut short"), "{at}: {said}");
    }
    for ruined in [f32::NAN, 3e38, -1e20] {
        let said = resumed(&header, &vec![ruined; values.len()]);
        assert!(said.contains("infinite or not numbers"), "{said}");
    }
}

#[test]
fn a_run_that_diverges_replaces_nothing_good() {
    let root = workspace();
    let text = Text::find(root.path(), None, 300).unwrap();
    let with = |lr: f64| {
        let job = job(root.path(), &format!("{lr:e}"));
        Job { settings: Settings { lr, ..job.settings }, ..job }
    };
    for lr in [1e3, 1e30] {
        let said = refused(&with(lr));
        assert!(said.contains("became") && said.contains("such as --lr 1.0e-3"), "{said}");
        let begun = fs::read(with(lr).folder.join("checkpoint")).unwrap();
        refused(&Job { resume: true, ..with(lr) });
        assert!(fs::read(with(lr).folder.join("checkpoint")).unwrap() == begun, "{lr}");
    }
    // The first step ruins it.
    let folder = with(1e30).folder;
    assert_eq!(Checkpoint::load(&folder).unwrap().resume(&folder, &text, 1).unwrap().0.step, 0);
    assert!(!folder.join(MODEL).exists());
}

/// Who knows twelve tokens by heart is surprised by others: more than by a guess.
#[test]
fn a_text_may_be_learned_by_heart() {
    let root = tempfile::tempdir().unwrap();
    let text = Text {
        tokenizer: Tokenizer::new(vec![(97, 98)]).unwrap(),
        training: (0..400).map(|i| i * 5 % 12).collect(),
        validation: (0..40).map(|i| 100 + i % 9).collect(),
        density: 1.0,
        about: "twelve tokens, and others".to_owned(),
        note: None,
        folder: None,
    };
    let job = job(root.path(), "heart");
    let settings = Settings { lr: 0.01, ..job.settings };
    let job = Job { settings, amount: Amount::Tokens(32 * 400), ..job };
    let outcome = train_on(&job, &text, false, &mut || false).unwrap();
    let last = outcome.points.last().unwrap();
    assert!(last.loss < 1.0 && last.validation > 1.1 * 257_f64.ln(), "{last:?}");
}

#[test]
fn minutes_become_steps() {
    let root = workspace();
    let job = Job { amount: Amount::Minutes(1e-5), ..job(root.path(), "short") };
    assert!(done(&job).step >= 1);
}

#[test]
fn a_run_ends_also_while_its_steps_are_timed() {
    let root = workspace();
    for (replicas, last) in [(1, 1), (1, 3), (2, 20)] {
        let timed = Amount::Minutes(600.0); // ten seconds
        let job = Job { amount: timed, replicas: many(replicas), ..job(root.path(), "timed") };
        let mut asked = 0;
        let mut stop = || {
            asked += 1;
            asked >= last
        };
        let said = train(&job, false, &mut stop).unwrap_err().to_string();
        assert!(said.contains("nothing to go on with; begin again"), "{said}");
        assert_eq!(asked, last, "another step was taken");
        assert!(!job.folder.join(TOKENIZER).exists(), "it looks like a run");
    }
    done(&job(root.path(), "timed"));
}

#[test]
fn a_machine_that_slows_down_ends_in_its_minutes_all_the_same() {
    let root = workspace();
    let slow = |replicas, folder| {
        let job = Job {
            amount: Amount::Minutes(0.02),
            replicas: many(replicas),
            ..job(root.path(), folder)
        };
        // A step of this model takes a small part of a millisecond; once the steps are planned it takes more than one.
        let planned = job.folder.join(TOKENIZER);
        let mut stop = || {
            if planned.is_file() {
                std::thread::sleep(Duration::from_millis(1));
            }
            false
        };
        (train(&job, false, &mut stop).unwrap(), job)
    };
    for (replicas, folder) in [(1, "slow"), (2, "both")] {
        let (outcome, job) = slow(replicas, folder);
        let last = outcome.points.last().unwrap();
        assert_eq!((outcome.flow, outcome.step), (Flow::Finished, last.step));
        assert!((0.5..3.0).contains(&last.seconds), "{last:?}");
        // The learning rate fell to its end on the way.
        assert!(last.lr < 0.3 * job.settings.lr, "{last:?}");
    }
}

#[test]
fn what_cannot_be_trained_is_refused_before_a_folder_is_made() {
    let root = workspace();
    let good = job(root.path(), "none");
    let amount = |amount| Job { amount, ..good.clone() };
    let settings = |settings| Job { settings, ..good.clone() };
    let config = Config { width: 1 << 15, layers: 900, hidden: 1 << 17, ..CONFIG };
    let minutes = [0.0, -1.0, f64::NAN, 1e9].map(Amount::Minutes);
    let decays = AdamW { decay: 1e30, ..AdamW::default() };
    let others = [
        (amount(Amount::Tokens(0)), "1 or more"),
        (amount(Amount::Minutes(1e308)), "1e308 minutes"),
        (settings(Settings { batch: 0, ..good.settings }), "a batch of 0"),
        (settings(Settings { length: 1, ..good.settings }), "a context of 1; "),
        (settings(Settings { lr: 1e-50, ..good.settings }), "the learning rate is 1e-50; "),
        (settings(Settings { rule: decays, ..good.settings }), "the decay is 1e30; "),
        (Job { config, ..good.clone() }, "smaller --batch"),
        (Job { resume: true, ..good.clone() }, "--resume"),
    ];
    for (job, why) in minutes.map(|minutes| (amount(minutes), "minutes")).into_iter().chain(others)
    {
        let said = refused(&job);
        assert!(said.contains(why) && !good.folder.exists(), "{said}");
    }
}
