//! What is asked for before a run against what it then has, by chapter 5's meter. It has a program of its own: the meter counts
//! every thread.

use language_model::{
    Config,
    corpus::{Corpus, Source},
    runner::{
        Amount, Job, Text,
        job::{CHECKPOINT_EVERY, train_on},
        memory::{of_replicas, of_run},
    },
    train::Settings,
};
use multi_gpu::replicas::member::Launcher;
use performance::memory::meter::Scope;
use std::ops::Range;

/// Some lines a hundred times over: the copy that a run makes of them is a part of all that it takes.
fn text() -> Text {
    let line = |i: usize| format!("pub fn f{}(x: usize) -> usize {{ x * {i} }}\n", i * i % 1009);
    let source = |lines: Range<usize>| {
        let text = lines.map(line).collect::<String>().into_bytes();
        vec![Source { text, ..Source::default() }]
    };
    let (training, validation) = (source(0..2000), source(2000..2200));
    let corpus = Corpus { training, validation, ..Corpus::default() };
    let text = Text::of(&corpus, None, 1024).unwrap();
    Text { training: text.training.repeat(100), ..text }
}

#[test]
fn runs_take_what_is_asked_for() {
    let (text, root) = (text(), tempfile::tempdir().unwrap());
    let config = Config { vocabulary: text.tokenizer.vocabulary(), ..Config::tiny() };
    let settings = Settings { batch: 12, length: config.context, ..Settings::default() };
    for ranks in [1, 2, 3] {
        // Each of three steps has a point, with a checkpoint and a model.
        let job = Job {
            config,
            settings,
            amount: Amount::Tokens(3 * 12 * config.context as u64),
            warmup: None,
            root: root.path().to_owned(),
            text: None,
            folder: root.path().join(ranks.to_string()),
            resume: false,
            threads: 1,
            replicas: (ranks > 1).then_some(Launcher::Threads(ranks)),
            device: None,
            checkpoint_every: CHECKPOINT_EVERY,
        };
        let scope = Scope::begin();
        // To ask whether there is memory is to reserve it for a moment: that was before the first step.
        let mut first = true;
        let mut stop = || {
            if std::mem::take(&mut first) {
                scope.reset();
            }
            false
        };
        train_on(&job, &text, false, &mut stop).unwrap();
        let found = scope.peak();
        let asked = match ranks {
            1 => of_run(&config, &settings, job.threads, text.training.len()),
            _ => of_replicas(&config, &settings, [ranks; 2]),
        };
        println!("{ranks} ranks: {found} of {asked}");
        // Beside the buffers there are lists of calls, and what large products lay out for themselves.
        let part = found as f64 / asked as f64;
        assert!((0.75..1.1).contains(&part), "{ranks} ranks: {found} of {asked}");
    }
}
