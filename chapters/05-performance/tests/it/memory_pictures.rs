//! What an experiment leaves is what the figures and tables draw.

use lab::testing;
use performance::engine::ladder::ladder;

#[test]
fn all_is_drawn_in_the_book() {
    testing::are_drawn_in_the_book(&performance::chapter());
    for page in ["05-performance/products.md", "05-performance/race.md"] {
        testing::has_rungs(page, ladder().iter().map(|rung| (rung.key, rung.name)));
    }
}

#[test]
fn a_recorded_experiment_is_drawn() {
    let chapter = performance::chapter();
    let run = testing::run(&testing::experiment(performance::chapter(), "performance.memory"));
    let records = testing::records(&chapter, &run.values, &run.skipped);
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
