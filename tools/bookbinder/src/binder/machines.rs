//! The machines that have records, in the order in which a page offers them.

use crate::{
    disk, html,
    quote::{
        machine::{YOURS, label, parts},
        machine_page::{machine_page, run_pages},
    },
    text,
};
use anyhow::{Context, Result, bail};
use lab::{
    Records,
    record::{CONTRIBUTED, ChapterRecord},
};
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

/// Puts each run's page and file beside its machine's page, which lends its frame. They are in no table of contents: every
/// page would carry it.
///
/// # Errors
/// If a file can't be read or written, or mdBook has made another frame.
pub(super) fn put_runs(all: &[Records], book: &Path) -> Result<()> {
    for records in all {
        let page = book.join("records").join(format!("{}.html", records.name));
        let to = book.join("records").join(&records.name);
        let put = |name: String, text: &str| disk::write(&to.join(name), text);
        let frame = text::read(&page)?;
        let frame = Frame::of(&frame, &records.name)
            .with_context(|| format!("{} has no frame for its runs", page.display()))?;
        for run in records.runs() {
            for ((name, title, text), part) in run_pages(records, run).into_iter().zip(parts(run)) {
                put(format!("{name}.html"), &frame.around(&title, &text))?;
                let mut own = run.clone();
                own.values = run.values[part].to_vec();
                let one = ChapterRecord { runs: vec![own] };
                put(format!("{name}.json"), &(serde_json::to_string(&one)? + "\n"))?;
            }
        }
    }
    Ok(())
}

/// A page of the book without its text, for a page that lies one folder deeper.
struct Frame {
    before: String,
    after: String,
    title: String,
}

impl Frame {
    fn of(page: &str, name: &str) -> Option<Self> {
        let (before, rest) = page.split_once("<main>")?;
        let (_, after) = rest.split_once("</main>")?;
        let deeper = |text: &str| text.replace("\"../", "\"../../");
        let title = format!("<title>{name}");
        before.contains(&title).then(|| Self {
            before: deeper(before) + "<main>",
            after: "</main>".to_owned() + &deeper(after),
            title,
        })
    }

    fn around(&self, title: &str, text: &str) -> String {
        let title = format!("<title>{}", html::attribute(title));
        format!("{}\n{text}\n{}", self.before.replacen(&self.title, &title, 1), self.after)
    }
}

/// The pages that list the records, at the end of the book.
pub(super) fn part(records: &[Records]) -> Vec<BookItem> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut text = "# Records\n\nEvery number of this book that is not cited was measured by `cargo run -- \
                    measure` on one of these machines. Each page here lists what one of \
                    them measured, with the command, the commit and the samples. Yours can also be listed here: \
                    `cargo run -- measure --budget full`, then `cargo run -- measure \
                    --send`, which makes the file to send in.\n\n"
        .to_owned();
    for records in records {
        let label = html::text(&label(records));
        let _ = writeln!(text, "- [{label}]({}.md)", records.name);
    }
    let mut first = Chapter::new("Records", text, "records/index.md", Vec::new());
    first.sub_items = records
        .iter()
        .map(|records| {
            BookItem::Chapter(Chapter::new(
                &records.name,
                machine_page(records),
                format!("records/{}.md", records.name),
                vec!["Records".to_owned()],
            ))
        })
        .collect();
    vec![BookItem::Chapter(first)]
}
