//! What an experiment leaves is what the figures and tables draw.

use lab::testing;
use performance::ladder::ladder;

#[test]
fn all_is_drawn_in_the_book() {
    testing::are_drawn_in_the_book(&performance::chapter());
    let rungs = ladder();
    testing::has_rungs(
        "05-performance/products.md",
        rungs.iter().map(|rung| (rung.key, rung.name)),
    );
}

#[test]
fn a_recorded_experiment_is_drawn() {
    let chapter = performance::chapter();
    let run = testing::run(&testing::experiment(performance::chapter(), "performance.memory"));
    let records = testing::records(&chapter, &run.values, &run.skipped);
    let of = |key: &str| key.starts_with("performance.memory");
    let figures: Vec<_> = chapter.figures.into_iter().filter(|own| of(own.key)).collect();
    let tables: Vec<_> = chapter.tables.into_iter().filter(|own| of(own.key)).collect();
    testing::are_drawn(&figures, &tables, &records);
}
