//! The machines that have records, in the order in which a page offers them.

use crate::{
    disk, html,
    quote::{
        machine::{YOURS, label},
        machine_page::machine_page,
    },
};
use anyhow::{Result, bail};
use lab::{Records, record::CONTRIBUTED};
use mdbook_driver::book::{BookItem, Chapter};
use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

/// The file next to the machines' folders that has their order.
const ORDER: &str = "machines.txt";

/// The machines under `folder`: the reference machines in the order of its `machines.txt`, those that it does not name by
/// name, then those that readers sent in, the reader's own last.
///
/// # Errors
/// If a record can't be read.
pub fn records(folder: &Path) -> Result<Vec<Records>> {
    let order = fs::read_to_string(folder.join(ORDER)).unwrap_or_default();
    let order: Vec<&str> = order.lines().map(str::trim).collect();
    let mut all = Vec::new();
    for folder in [folder.to_owned(), folder.join(CONTRIBUTED)].iter().filter(|f| f.is_dir()) {
        for path in disk::entries(folder)? {
            if path.join("machine.json").is_file() {
                all.push(Records::load(&path)?);
            }
        }
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = all.iter().find(|records| !names.insert(&records.name)) {
        bail!("two machines have the name `{}`; rename the folder of one of them", twice.name);
    }
    all.sort_by_key(|records| {
        let place = order.iter().position(|name| *name == records.name).unwrap_or(order.len());
        (records.name == YOURS, records.contributed, place, records.name.clone())
    });
    Ok(all)
}

/// Puts a machine's files beside its page.
///
/// # Errors
/// If a file can't be written.
pub(super) fn put_files(all: &[Records], book: &Path) -> Result<()> {
    for records in all {
        for (chapter, record) in &records.chapters {
            let file = book.join("records").join(&records.name).join(format!("{chapter}.json"));
            disk::write(&file, serde_json::to_string(record)? + "\n")?;
        }
    }
    Ok(())
}

/// The pages that list the records, at the end of the book.
pub(super) fn part(records: &[Records]) -> Vec<BookItem> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut text = "# Records\n\nEvery number of this book that is not cited was measured by `cargo run -- \
                    measure` on one of these machines. Each page here lists what one of \
                    them measured, with the command, the commit and the samples. Yours can also be listed here: \
                    `cargo run -- measure --budget book`, then `cargo run -- measure \
                    --send`, which makes the file to send in.\n\n"
        .to_owned();
    for records in records {
        let label = html::text(&label(records));
        let _ = writeln!(text, "- [{label}]({}.md)", records.name);
    }
    let mut first = Chapter::new("Records", text, "records/index.md", Vec::new());
    let page = |records: &Records| {
        let (name, above) = (&records.name, vec!["Records".to_owned()]);
        let path = format!("records/{name}.md");
        BookItem::Chapter(Chapter::new(name, machine_page(records), path, above))
    };
    first.sub_items = records.iter().map(page).collect();
    vec![BookItem::Chapter(first)]
}
