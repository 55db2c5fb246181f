//! What a machine is called on a page, and where its page is.

use crate::html;
use lab::{
    Records,
    record::{Run, Value},
};
use std::ops::Range;

/// The folder of the reader's own machine.
pub const YOURS: &str = "yours";

/// Whether the machine is one that the book's own numbers come from: neither the reader's nor one that was sent in.
pub fn is_reference(records: &Records) -> bool {
    !records.contributed && records.name != YOURS
}

/// The most characters of a name that a record brings along: what a stranger sent in must not fill the book.
const NAME: usize = 80;

/// Names that a record brings along, at most so many, and each cut.
pub fn listed(names: &[String], most: usize) -> String {
    let mut shown: Vec<String> = names.iter().take(most).map(|name| short(name)).collect();
    if names.len() > most {
        shown.push(format!("and {} more", names.len() - most));
    }
    shown.join(", ")
}

/// A name that a record brings along, cut after so many characters.
pub fn short(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The most GPUs that are listed one by one.
pub const GPUS: usize = 16;

/// The machine in a few words: `epyc-2core (AMD EPYC 7R13, 2 cores)`, and whether a reader sent it in.
pub fn label(records: &Records) -> String {
    let machine = &records.machine;
    let parts = if machine.gpus.is_empty() {
        format!("{}, {} cores", short(&machine.cpu), machine.cores)
    } else {
        listed(&machine.gpus, GPUS)
    };
    let from = if records.contributed { ", contributed by a reader" } else { "" };
    format!("{} ({parts}{from})", records.name)
}

/// The page that lists a machine's records, from the book's root.
pub fn records_page(machine: &str) -> String {
    format!("records/{machine}.html")
}

/// The most values on a page of a run: each is a row, and a page has 2,500 elements at most.
const ROWS: usize = 100;

/// The parts that a run's values are split into: most runs have one.
pub fn parts(run: &Run) -> Vec<Range<usize>> {
    let end = run.values.len();
    (0..end.max(1)).step_by(ROWS).map(|start| start..end.min(start + ROWS)).collect()
}

/// The name of a part's page and file, next to the others of its machine: `matmul-ladder`, `matmul-ladder-part-2`.
pub fn part_name(run: &Run, part: usize) -> String {
    let name = html::value_anchor(&run.experiment);
    if part == 0 { name } else { format!("{name}-part-{}", part + 1) }
}

/// The page with a part of a run, from the book's root.
fn part_page(machine: &str, run: &Run, part: usize) -> String {
    format!("records/{machine}/{}.html", part_name(run, part))
}

/// The page of a run, from the book's root.
pub fn run_page(machine: &str, run: &Run) -> String {
    part_page(machine, run, 0)
}

/// Where a value of the machine's is: the part of its run, and the row.
pub fn value_place(records: &Records, value: &Value) -> String {
    let anchor = html::value_anchor(&lab::record::name(&value.key, &value.params));
    let found = records.runs().find_map(|run| {
        let at = run.values.iter().position(|one| std::ptr::eq(one, value))?;
        Some(part_page(&records.name, run, at / ROWS))
    });
    format!("{}#{anchor}", found.unwrap_or_else(|| records_page(&records.name)))
}

/// Where on its machine's page a run is.
pub fn run_anchor(run: &Run) -> String {
    format!("run-{}", html::value_anchor(&run.experiment))
}

/// The page of the run that a key's values come from.
pub fn run_place(key: &str, records: &Records) -> String {
    let run = records.run_of(key);
    run.map_or_else(|| records_page(&records.name), |run| run_page(&records.name, run))
}

/// The link under a figure or a table: how its numbers came about, and on which machine. What others have published is no
/// machine's here, and its caption says whose.
pub fn source(how: &str, key: &str, records: &Records, up: &str) -> String {
    if key.ends_with(".published") {
        return String::new();
    }
    format!(
        "<a class=\"source\" href=\"{up}{}\">{how} on {}</a>",
        run_place(key, records),
        html::text(&records.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_parts_and_each_value_is_in_one() {
        let value = Value::new("a.b", &[], lab::Unit::Count, lab::Samples(vec![1.0]));
        let run = |count| Run {
            experiment: "a.b".to_owned(),
            values: vec![value.clone(); count],
            ..Run::default()
        };
        assert_eq!(parts(&run(3)), vec![0..3; 1]);
        assert_eq!(parts(&run(0)), vec![0..0; 1]);
        assert_eq!(parts(&run(201)), [0..100, 100..200, 200..201]);
        assert_eq!([0, 2].map(|part| part_name(&run(201), part)), ["a-b", "a-b-part-3"]);
    }

    #[test]
    fn what_others_published_is_no_machines() {
        let records = lab::testing::unmeasured();
        assert_eq!(source("Measured", "a.b.published", &records, ""), "");
        assert!(source("Measured", "a.b", &records, "").contains(">Measured on "));
    }

    #[test]
    fn names_that_a_stranger_sent_are_cut() {
        let names = vec!["é".repeat(400); 300];
        let shown = listed(&names, GPUS);
        assert!(shown.ends_with(", and 284 more"), "{shown}");
        assert!(shown.chars().count() < 17 * 84, "{}", shown.chars().count());
        assert_eq!(listed(&["one".to_owned(), "two".to_owned()], 2), "one, two");
    }
}
