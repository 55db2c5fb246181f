//! What an experiment leaves is what the figures and tables draw.

use lab::{Budget, Device, Error, Records, chapter, machine::Machine, progress::Progress, record};
use std::path::Path;

/// The keys of the parts whose figures are checked here.
const PARTS: [&str; 6] = [
    "performance.input",
    "performance.stream",
    "performance.pieces",
    "performance.memory",
    "performance.accumulate",
    "performance.recompute",
];

fn ours(key: &str) -> bool {
    PARTS.iter().any(|part| record::is_below(key, part))
}

#[test]
fn without_a_record_every_figure_reports_it() {
    let none = lab::testing::unmeasured();
    let chapter = performance::chapter();
    let figures = chapter.figures.iter().filter(|f| ours(f.key));
    let tables = chapter.tables.iter().filter(|t| ours(t.key));
    let errors: Vec<Error> = figures
        .map(|figure| (figure.draw)(&none).expect_err(figure.key))
        .chain(tables.map(|table| (table.make)(&none).expect_err(table.key)))
        .collect();
    assert_eq!(errors.len(), 10);
    assert!(errors.iter().all(|e| matches!(e, Error::NotMeasured { .. })), "{errors:?}");
}

#[test]
fn a_recorded_experiment_is_drawn() {
    let mut chapter = performance::chapter();
    chapter.experiments.retain(|e| e.key == "performance.memory");
    let progress = Progress::hidden();
    let folder = tempfile::tempdir().unwrap();
    let run = chapter::run(
        &chapter.experiments[0],
        Budget::Quick,
        Device::Cpu,
        Some(Path::new("none")), // it reads no data
        &progress,
    )
    .unwrap();
    record::save(folder.path(), &Machine::detect(), "performance", run).unwrap();
    let records = Records::load(folder.path()).unwrap();
    let figure = chapter.figures.iter().find(|f| f.key == "performance.memory").unwrap();
    let drawing = (figure.draw)(&records).unwrap();
    assert!(drawing.svg.starts_with("<svg") && drawing.alt.contains("CNN"));
    for (key, rows) in [("performance.memory", 5), ("performance.memory.parts", 2)] {
        let table = chapter.tables.iter().find(|t| t.key == key).unwrap();
        let table = (table.make)(&records).unwrap();
        assert_eq!(table.rows.len(), rows, "{key}");
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
    }
}
