//! Figures and tables that a page declares, in fences marked `figure KEY` and `table KEY` (see [`lab::fence`]). Each is drawn
//! where it stands, and where another page names its key.

use anyhow::{Context as _, Result, bail};
use lab::{Chapter, Drawing, Records, TableData, fence::Fence, record::is_below};
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
        let declared = |name: &str| {
            let all = chapters.iter().flat_map(|chapter| &chapter.experiments);
            all.into_iter().find_map(|experiment| experiment.declared(name)).copied()
        };
        let mut out = String::with_capacity(text.len());
        let mut lines = text.split_inclusive('\n').enumerate();
        while let Some((at, line)) = lines.next() {
            let quote = if line.starts_with("> ") { "> " } else { "" };
            let inside = |line: &str| line.strip_prefix(quote).unwrap_or(line).to_owned();
            let first = inside(line);
            let info = first.trim_end().strip_prefix("```").unwrap_or_default();
            let (all, key) = match info.split_once(' ') {
                Some(("figure", key)) => (&mut self.figures, key),
                Some(("table", key)) => (&mut self.tables, key),
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
            let fence = Fence::read(&body.concat(), &declared).with_context(place)?;
            let mut all_experiments = chapters.iter().flat_map(|chapter| &chapter.experiments);
            if !all_experiments.any(|experiment| is_below(key, experiment.key)) {
                bail!("{}: `{key}` is below no experiment's key", place());
            }
            if all.insert(key.to_owned(), fence).is_some() {
                bail!("{}: `{key}` is declared twice", place());
            }
            let name = info.split(' ').next().unwrap_or_default();
            let rest = format!("{}\n", quote.trim_end()).repeat(body.len() + 1);
            out.push_str(&format!("{quote}{{{{#{name} {key}}}}}\n{rest}"));
        }
        Ok(out)
    }

    /// The figure with this key.
    pub(super) fn figure<'f>(
        &'f self,
        chapters: &'f [Chapter],
        key: &str,
    ) -> Option<Makes<'f, Drawing>> {
        if let Some(fence) = self.figures.get(key) {
            return Some(Box::new(|records| fence.draw(records)));
        }
        let all = chapters.iter().flat_map(|chapter| &chapter.figures);
        let found = all.filter(|figure| figure.key == key).map(|figure| figure.draw).next()?;
        Some(Box::new(found))
    }

    /// The table with this key.
    pub(super) fn table<'f>(
        &'f self,
        chapters: &'f [Chapter],
        key: &str,
    ) -> Option<Makes<'f, TableData>> {
        if let Some(fence) = self.tables.get(key) {
            return Some(Box::new(|records| fence.table(records)));
        }
        let all = chapters.iter().flat_map(|chapter| &chapter.tables);
        let found = all.filter(|table| table.key == key).map(|table| table.make).next()?;
        Some(Box::new(found))
    }
}
