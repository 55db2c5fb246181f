mod experiments;
mod figures;

use cpu_gpu::measured::{chapter, experiments::devices::DEVICES};
use lab::testing::{are_drawn, book, run};
use lab::{Chapter, Experiment, Records, record::Run};

/// What an experiment on every device leaves: numbers, and of each device some or the reason why not.
pub fn leaves(experiment: &Experiment) -> Run {
    let left = run(experiment);
    for value in &left.values {
        assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
    }
    for device in DEVICES {
        let named = left.values.iter().any(|value| value.param("device") == Some(device));
        let mut reasons = left.skipped.iter().filter(|s| !s.why.is_empty());
        let told = reasons.any(|s| s.params.get("device").is_some_and(|id| id == device));
        assert!(named || told, "nothing is said about {device}");
    }
    left
}

/// What the GPU's reference machine measured, and the CPU's where that did not.
pub fn measured() -> Records {
    let [mut all, more] =
        ["h100", "epyc-2core"].map(|name| Records::load(&book("records").join(name)).unwrap());
    let runs = &mut all.chapters.get_mut("cpu_gpu").unwrap().runs;
    for run in &more.chapters["cpu_gpu"].runs {
        if runs.iter().all(|other| other.experiment != run.experiment) {
            runs.push(run.clone());
        }
    }
    all
}

#[test]
fn figures_and_tables_are_made_from_records() {
    let Chapter { mut figures, mut tables, .. } = chapter();
    figures.retain(|figure| !figure.key.contains(".lessons.") && !figure.key.ends_with("reads"));
    // No reference machine lets its counters be read.
    tables.retain(|table| table.key != "cpu_gpu.counters");
    assert_eq!((figures.len(), tables.len()), (9, 8));
    are_drawn(&figures, &tables, &measured());
    for figure in figures.iter().filter(|figure| figure.key.contains(".truck.")) {
        let drawing = (figure.draw)(&measured()).unwrap();
        assert!(drawing.caption.chars().any(|c| c.is_ascii_digit()), "{}", drawing.caption);
        assert!(drawing.alt.contains("CUDA"), "{}: {}", figure.key, drawing.alt);
    }
}
