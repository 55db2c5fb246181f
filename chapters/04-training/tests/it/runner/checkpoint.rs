use lab::run::{Event, Identity, Journal, Part};
use lab::testing::refused;
use std::path::Path;
use training::config::{EngineKind, Model, Schedule, Settings};
use training::learning::optimizer::{Rule, State};
use training::learning::{loss::Tally, metrics::Epoch};
use training::runner::checkpoint::{Checkpoint, Header, LossScale, check};

/// A checkpoint with something in every field.
fn sample() -> Checkpoint {
    let epoch = Epoch {
        epoch: 1,
        train_loss: 0.1 + 0.2,
        train_accuracy: 1.0 / 3.0,
        test_loss: 0.7,
        test_accuracy: 0.9,
        validation_loss: Some(0.2 + 0.4),
        validation_accuracy: None,
        seconds: 1.5,
        images_per_second: 1e4 / 3.0,
    };
    Checkpoint {
        header: Header {
            settings: Settings { lr: 1.0 / 3.0, ..Settings::default() },
            epoch: 1,
            step: 17,
            steps: 486,
            masks: 0,
            loss_scale: None,
            numbers: [3, 2],
            tally: Tally { loss: 2.0 / 7.0, right: 900, seen: 1000 },
            epoch_seconds: 0.3,
            seconds: 2.1,
            history: vec![epoch],
            best: Some(1),
            journal: Journal {
                parts: vec![Part::begins(0, "cpu", "drawn digits")],
                events: vec![Event::now(20, &[("loss/step", 0.1 + 0.2)])],
                ..Journal::new(Identity::new([("test set", "ab".into())]))
            },
        },
        weights: vec![1.0, -0.0, f32::MIN_POSITIVE / 8.0],
        optimizer: State { t: 486, slots: vec![vec![0.1, 0.2], vec![1e-30, 2.0]] },
        best: vec![0.5, 1.5, 2.5],
    }
}

#[test]
fn skipped_steps_are_none_for_the_optimizer() {
    let mut saved = sample();
    saved.header.loss_scale = Some(LossScale { scale: 1024.0, good: 7, skipped: 6 });
    saved.optimizer.t = 480;
    assert_eq!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap(), saved);
    saved.header.loss_scale = Some(LossScale { scale: 1024.0, good: 7, skipped: 487 });
    assert!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).is_err());
    saved.header.loss_scale = None;
    saved.weights.push(0.0); // more numbers than the header says
    assert!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).is_err());
}

#[test]
fn what_was_counted_fits_the_images() {
    let header = sample().header;
    let with = |step, seen, right| Header {
        step,
        tally: Tally { seen, right, ..header.tally },
        ..header.clone()
    };
    for (counted, images, fits) in [
        (with(17, 1000, 900), 60_000, true),
        (with(16, 2000, 900), 2000, true),
        (with(17, 2000, 900), 2000, false),
        (with(16, 2048, 900), 2000, false),
        (with(17, 2177, 900), 60_000, false),
        (with(17, 1000, 1001), 60_000, false),
        (with(usize::MAX, 1000, 900), 60_000, false),
    ] {
        assert_eq!(counted.can_be_of(images), fits, "{counted:?}");
    }
}

#[test]
fn rules_with_and_without_memory_come_back() {
    for (rule, slots) in [(Rule::Sgd, 0), (Rule::Momentum, 1), (Rule::AdamW, 2)] {
        let mut saved = sample();
        saved.header.settings.optimizer = rule;
        saved.optimizer.slots.truncate(slots);
        (saved.header.best, saved.best) = (None, Vec::new());
        assert_eq!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap(), saved);
    }
}

#[test]
fn a_difference_is_named_by_its_option() {
    let header = sample().header;
    let same = header.settings.clone();
    let path = Path::new("runs/x");
    let data = header.journal.identity.clone();
    check(path, &header, &same, &data).unwrap();
    check(path, &header, &Settings { epochs: 99, ..same.clone() }, &data).unwrap();
    let others = [
        (Settings { batch: 7, ..same.clone() }, "--batch 128, not 7"),
        (Settings { lr: 0.5, ..same.clone() }, "--lr 0.333"),
        (Settings { seed: 5, ..same.clone() }, "--seed 0, not 5"),
        (Settings { limit: Some(5), ..same.clone() }, "--limit all, not 5"),
        (Settings { optimizer: Rule::Sgd, ..same.clone() }, "--optimizer adam, not sgd"),
        (Settings { schedule: Schedule::Cosine, ..same.clone() }, "--schedule constant"),
        (Settings { warmup: 3, ..same.clone() }, "--warmup 0, not 3"),
        (Settings { decay: 0.5, ..same.clone() }, "--decay 0, not 0.5"),
        (Settings { dropout: 0.5, ..same.clone() }, "--dropout 0.2, not 0.5"),
        (Settings { augment: true, ..same.clone() }, "--augment false, not true"),
        (Settings { patience: Some(2), ..same.clone() }, "--patience none, not 2"),
        (Settings { accumulate: Some(8), ..same.clone() }, "--accumulate all, not 8"),
        (Settings { epochs: 0, ..same.clone() }, "--epochs 0"),
    ];
    for (asked, said) in others {
        refused(check(path, &header, &asked, &data), [said]);
    }
    let mut falls = header.clone();
    falls.settings.schedule = Schedule::Cosine;
    let longer = Settings { epochs: 99, ..falls.settings.clone() };
    refused(check(path, &falls, &longer, &data), ["--epochs 10, not 99"]);
    let fast = Settings { engine: EngineKind::Fast, ..same.clone() };
    let mut older = Header { settings: fast.clone(), ..header.clone() };
    refused(check(path, &older, &fast, &data), ["other masks", "without --resume"]);
    older.masks = fast.masks();
    check(path, &older, &fast, &data).unwrap();
    // Without dropout nothing was drawn.
    for other in [Settings { dropout: 0.0, ..fast.clone() }, Settings { model: Model::Rnn, ..fast }]
    {
        let older = Header { settings: other.clone(), masks: 0, ..older.clone() };
        check(path, &older, &other, &data).unwrap();
    }
    let other = Identity::new([("test set", "cd".into())]);
    refused(check(path, &header, &same, &other), ["another test set (ab; now cd)"]);
}
