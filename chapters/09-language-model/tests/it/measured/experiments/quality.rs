use lab::{Budget, Experiment, Recorder, run::METRICS, testing};
use language_model::measured::experiments::quality::{
    BITS, KEPT, LINES, experiments, guesses, readable, spread, text, written,
};
use language_model::{Config, Model, Tokenizer, corpus::Source, evaluate, runner::Point};
use std::fs;

/// The metrics of a run of two minutes, a point for each.
fn two_minutes(rec: &mut Recorder) {
    let folder = tempfile::tempdir().unwrap();
    let point = |minute: u64| Point {
        step: minute,
        tokens: 1000 * minute,
        seconds: 60.0 * minute as f64 + 1.0,
        loss: 1.0,
        validation: 1.0,
        bits_per_byte: 3.0 - minute as f64 / 10.0,
        tokens_per_second: 16.0,
        lr: 1e-3,
        sample: format!("fn a{minute}() {{\n{}}}\n", "    b();\n".repeat(9)),
    };
    let points = (0..3).map(|minute| serde_json::to_string(&point(minute)).unwrap());
    let lines: Vec<String> = ["{}".to_owned()].into_iter().chain(points).collect();
    fs::write(folder.path().join(METRICS), lines.join("\n")).unwrap();
    written(rec, folder.path());
}

#[test]
fn what_was_written_is_the_first_point_after_the_time_and_the_last() {
    let run = |rec: &mut Recorder| {
        two_minutes(rec);
        Ok(())
    };
    let found = testing::run(&Experiment { run, ..experiments().swap_remove(0) });
    let of = |value: &lab::record::Value| {
        (value.params["after"].clone(), value.params["tokens"].clone(), value.median)
    };
    let row = |after: &str, tokens: &str, bits| (after.to_owned(), tokens.to_owned(), bits);
    let wanted = [row("1 minute", "1000", 2.9), row("the end", "2000", 2.8)];
    assert_eq!(found.values.iter().map(of).collect::<Vec<_>>(), wanted);
    assert_eq!(found.skipped[0].params["after"], "3 minutes");
    let sample = &found.values[0].params["sample"];
    assert_eq!(sample.lines().count(), LINES);
    assert!(sample.starts_with("fn a1() {\n    b();"));
}

/// Sixty files of some 1,400 bytes.
fn unseen() -> Vec<Source> {
    let text = |i: usize| format!("fn f{i}() -> usize {{\n    {i}\n}}\n").repeat(40);
    let source = |i| Source { text: text(i).into_bytes(), ..Source::default() };
    (0..60).map(source).collect()
}

#[test]
fn all_guess_the_same_text_and_one_program_all_of_it() {
    let run = |rec: &mut Recorder| {
        let config =
            Config { vocabulary: 257, context: 64, width: 8, heads: 2, layers: 1, hidden: 8 };
        let tokenizer = Tokenizer::train(&[b""], 257)?;
        Ok(guesses(rec, &Model::new(config, 1)?, &tokenizer, &unseen())?)
    };
    let whole = experiments().swap_remove(1);
    let found = testing::run(&Experiment { run, values: &[BITS], ..whole });
    let of = |who: &str| found.values.iter().find(|v| v.params["who"] == who).map(|v| v.median);
    let unseen = unseen();
    let part = spread(&unseen, text(Budget::Quick));
    assert!(part.len() > 3 && part.len() < unseen.len());
    assert!((of("uniform").unwrap() - 257f64.log2()).abs() < 1e-9, "a byte is a token");
    assert_eq!(of("gzip").unwrap(), evaluate::gzip(&part).unwrap().per_byte());
    assert_eq!(of("xz"), evaluate::xz(&part).ok().map(|bits| bits.per_byte()));
    assert_eq!(of("xz-all"), evaluate::xz(&unseen).ok().map(|bits| bits.per_byte()));
}

#[test]
fn a_text_is_shown_trimmed_and_without_what_a_page_cannot_show() {
    assert_eq!(readable("\n  fn a() {\r\n\tb\u{1b}[0m \u{0}}\n\n"), "fn a() {\n\tb[0m }");
    let long = readable(&"é".repeat(2 * KEPT));
    assert_eq!((long.chars().count(), long.chars().last()), (KEPT + 1, Some('…')));
    assert_eq!(readable(&"a".repeat(KEPT)).len(), KEPT);
}
