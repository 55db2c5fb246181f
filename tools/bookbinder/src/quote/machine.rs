//! What a machine is called on a page, and where its page is.

use crate::html;
use lab::{Records, record::Run};

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

/// Where on its machine's page a run is.
pub fn run_anchor(run: &Run) -> String {
    format!("run-{}", html::value_anchor(&run.experiment))
}

/// Where the run is that a key's values come from, from the book's root: its line on its machine's page.
pub fn run_place(key: &str, records: &Records) -> String {
    let has = |run: &&Run| run.values.iter().any(|value| value.key == key);
    let run = records.runs().find(has).or_else(|| records.run_of(key));
    let line = run.map(|run| format!("#{}", run_anchor(run)));
    format!("records/{}.html{}", records.name, line.unwrap_or_default())
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
