//! Made-up records, for the chapters' tests of what they draw.

use crate::{
    Chapter, Records,
    machine::Machine,
    record::{ChapterRecord, Run, Skipped, Value},
};
use std::collections::BTreeMap;

/// The records of a machine on which no experiment ran.
pub fn unmeasured() -> Records {
    Records {
        machine: Machine { cpu: "A made-up CPU".to_owned(), cores: 2, ..Machine::default() },
        name: "made-up".to_owned(),
        contributed: false,
        chapters: BTreeMap::new(),
    }
}

/// The records of a machine that measured these values and left out the others, each in the run of the experiment that
/// declares its key. An experiment without either did not run.
///
/// # Panics
/// If no experiment of the chapter declares the key of a value: then no machine leaves it.
pub fn records(chapter: &Chapter, values: &[Value], skipped: &[Skipped]) -> Records {
    let declared =
        |key: &str| chapter.experiments.iter().any(|experiment| experiment.values.contains(&key));
    for key in values.iter().map(|v| &v.key).chain(skipped.iter().map(|s| &s.key)) {
        assert!(declared(key), "no experiment of `{}` declares `{key}`", chapter.name);
    }
    let runs = chapter.experiments.iter().map(|experiment| {
        let belongs = |key: &str| experiment.values.contains(&key);
        Run {
            experiment: experiment.key.to_owned(),
            command: format!("measure {}", chapter.name),
            date: "2026-01-01T00:00:00Z".to_owned(),
            commit: "0".to_owned(),
            budget: "full".to_owned(),
            rustc: "1.95".to_owned(),
            flags: String::new(),
            values: values.iter().filter(|v| belongs(&v.key)).cloned().collect(),
            skipped: skipped.iter().filter(|s| belongs(&s.key)).cloned().collect(),
        }
    });
    let runs = runs.filter(|run| !run.values.is_empty() || !run.skipped.is_empty()).collect();
    let chapters = BTreeMap::from([(chapter.name.to_owned(), ChapterRecord { runs })]);
    Records { chapters, ..unmeasured() }
}
