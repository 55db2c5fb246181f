//! Figures and tables that a page declares, in fences marked `figure KEY` and `table KEY` (see [`lab::fence`]). Each is drawn
//! where it stands, and where another page names its key.

use anyhow::{Context as _, Result, bail};
use lab::{Chapter, Drawing, Key, Records, TableData, fence::Fence, record::is_below};
use std::{collections::BTreeMap, path::Path};

/// What the pages declare, by key, and what the chapters draw themselves.
#[derive(Default)]
pub struct Fences {
    figures: BTreeMap<String, Fence>,
    tables: BTreeMap<String, Fence>,
}

/// Makes a figure or a table from one machine's records.
pub(super) type Makes<'f, T> = Box<dyn Fn(&Records) -> lab::Result<T> + 'f>;

impl Fences {
    /// Takes the fences out of a page, also those in quotes, and leaves the directive that quotes each, on as many lines.
    ///
    /// # Errors
    /// With the page and the line, if a fence is wrong, its key is below no experiment's or declared twice.
    pub fn take(&mut self, chapters: &[Chapter], page: &Path, text: &str) -> Result<String> {
        let mut out = String::with_capacity(text.len());
        let mut lines = text.split_inclusive('\n').enumerate();
        while let Some((at, line)) = lines.next() {
            let quote = if line.starts_with("> ") { "> " } else { "" };
            let inside = |line: &str| line.strip_prefix(quote).unwrap_or(line).to_owned();
            let first = inside(line);
            let info = first.trim_end().strip_prefix("```").and_then(|info| info.split_once(' '));
            let (all, name, of) = match info {
                Some((name @ "figure", of)) => (&mut self.figures, name, of),
                Some((name @ "table", of)) => (&mut self.tables, name, of),
                _ => {
                    out.push_str(line);
                    continue;
                }
            };
            let place = || format!("book/src/{}:{}", page.display(), at + 1);
            let body: Vec<String> = lines
                .by_ref()
                .map(|(_, line)| inside(line))
                .take_while(|line| line.trim_end() != "```")
                .collect();
            let fence =
                Fence::read(&body.concat(), &|name| key(chapters, name)).with_context(place)?;
            let mut all_experiments = chapters.iter().flat_map(|chapter| &chapter.experiments);
            if !all_experiments.any(|experiment| is_below(of, experiment.key)) {
                bail!("{}: `{of}` is below no experiment's key", place());
            }
            if all.insert(of.to_owned(), fence).is_some() {
                bail!("{}: `{of}` is declared twice", place());
            }
            let rest = format!("{}\n", quote.trim_end()).repeat(body.len() + 1);
            out.push_str(&format!("{quote}{{{{#{name} {of}}}}}\n{rest}"));
        }
        Ok(out)
    }

    /// The figure with this key.
    pub(super) fn figure<'f>(&'f self, all: &[Chapter], key: &str) -> Option<Makes<'f, Drawing>> {
        let mut own = all.iter().flat_map(|chapter| &chapter.figures).filter(|own| own.key == key);
        declared(&self.figures, key, Fence::draw, own.next().map(|own| own.draw))
    }

    /// The table with this key.
    pub(super) fn table<'f>(&'f self, all: &[Chapter], key: &str) -> Option<Makes<'f, TableData>> {
        let mut own = all.iter().flat_map(|chapter| &chapter.tables).filter(|own| own.key == key);
        declared(&self.tables, key, Fence::table, own.next().map(|own| own.make))
    }
}

/// The declared key of this name.
pub(super) fn key(chapters: &[Chapter], name: &str) -> Option<Key> {
    let mut all = chapters.iter().flat_map(|chapter| &chapter.experiments);
    all.find_map(|experiment| experiment.declared(name)).copied()
}

/// What makes the element with this key: its fence, or else a chapter's `own` function.
fn declared<'f, T: 'f>(
    fences: &'f BTreeMap<String, Fence>,
    key: &str,
    make: fn(&Fence, &Records) -> lab::Result<T>,
    own: Option<fn(&Records) -> lab::Result<T>>,
) -> Option<Makes<'f, T>> {
    match fences.get(key) {
        Some(fence) => Some(Box::new(move |records| make(fence, records))),
        None => Some(Box::new(own?)),
    }
}
