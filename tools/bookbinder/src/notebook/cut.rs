//! A page cut into cells: at its first two levels of headings, and around each fence that is a cell.

use super::cell::{Cell, Runs};
use crate::{
    markdown::{cell_code, is_cell, options, words},
    text::edited,
};
use anyhow::{Result, bail};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use std::ops::Range;

/// Where an address leads instead.
type Link<'a> = &'a dyn Fn(&str) -> Option<String>;
/// The replacement for the address of an image.
type Picture<'a> = &'a dyn Fn(&str) -> Result<Option<String>>;

/// The cells of a page, without ids. If it is a `part` of another one, its headings are a level lower.
///
/// # Errors
/// If a cell is in a list, a quotation or a table, or is empty, or an image is wrong.
pub(super) fn cells(text: &str, part: bool, link: Link, picture: Picture) -> Result<Vec<Cell>> {
    let (cuts, edits) = (Vec::new(), Vec::new());
    let mut page = Page { text, part, cuts, edits, depth: 0, in_cell: false };
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                page.redirect(&range, &dest_url, link(&dest_url));
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                page.redirect(&range, &dest_url, picture(&dest_url)?);
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                for (at, _) in html.match_indices("src=\"") {
                    let address = html[at + 5..].split('"').next().unwrap_or_default();
                    if let Some(new) = picture(address)? {
                        let start = range.start + at + 5;
                        page.edits.push((start..start + address.len(), new));
                    }
                }
            }
            event => page.cut(event, range)?,
        }
    }
    page.cells()
}

/// A position where a page is cut into cells.
enum Cut {
    Heading(usize),
    Cell { range: Range<usize>, code: String, runs: Runs },
}

/// A page on its way.
struct Page<'t> {
    text: &'t str,
    part: bool,
    cuts: Vec<Cut>,
    /// Ranges and their replacements.
    edits: Vec<(Range<usize>, String)>,
    /// In how many lists, quotations and tables the parser is.
    depth: usize,
    in_cell: bool,
}

impl Page<'_> {
    /// What an event of the parser means for the cells.
    fn cut(&mut self, event: Event, range: Range<usize>) -> Result<()> {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                self.fence(&info, range)?;
            }
            Event::Text(part) if self.in_cell => {
                if let Some(Cut::Cell { code, .. }) = self.cuts.last_mut() {
                    code.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => self.in_cell = false,
            Event::Start(Tag::BlockQuote(_) | Tag::Item | Tag::TableCell) => self.depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::TableCell) => self.depth -= 1,
            Event::Start(Tag::Heading { level, id, .. }) => {
                if self.depth == 0 && matches!(level, HeadingLevel::H1 | HeadingLevel::H2) {
                    self.cuts.push(Cut::Heading(range.start));
                }
                if self.part && self.text[range.start..].starts_with('#') {
                    self.edits.push((range.start..range.start, "#".to_owned()));
                }
                // `{#anchor}` is mdBook's; Jupyter would show it.
                if id.is_some()
                    && let Some(at) = self.text[range.clone()].rfind("{#")
                    && let Some(end) = self.text[range.start + at..range.end].find('}')
                {
                    let start = range.start + at;
                    self.edits.push((start..start + end + 1, String::new()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A fence: a cell, or code that is shown.
    fn fence(&mut self, info: &str, range: Range<usize>) -> Result<()> {
        if is_cell(info) {
            if self.depth > 0 {
                let line = self.text[..range.start].lines().count();
                bail!(
                    "line {line} after its quotes: a cell can't be in a list, a quotation or a table"
                );
            }
            let mark =
                Runs::MARKS.iter().find(|(_, mark, _)| words(info).any(|word| word == *mark));
            let runs = mark.map_or(Runs::Along, |(runs, _, _)| *runs);
            self.in_cell = true;
            self.cuts.push(Cut::Cell { range, code: String::new(), runs });
        } else if let Some(language) = words(info).next()
            && language != info
            && let Some(at) = self.text[range.clone()].find(info)
        {
            // Jupyter colours `rust`, and takes `rust,ignore` for a language of its own.
            let start = range.start + at;
            self.edits.push((start..start + info.len(), language.to_owned()));
        }
        Ok(())
    }

    /// Puts `new` where `old` is the address of the link or image in `range`.
    fn redirect(&mut self, range: &Range<usize>, old: &str, new: Option<String>) {
        let Some(new) = new else { return };
        // An inline link has its address behind its text; one with a reference has it elsewhere, and is
        // left to the page.
        if let Some(at) = self.text[range.clone()].rfind(&format!("]({old}")) {
            let start = range.start + at + 2;
            self.edits.push((start..start + old.len(), new));
        }
    }

    /// The cells between and at the cuts.
    fn cells(mut self) -> Result<Vec<Cell>> {
        self.edits.sort_by_key(|(range, _)| range.start);
        if self.edits.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
            bail!("a link or an image overlaps another one");
        }
        let (mut cells, mut at) = (Vec::new(), 0);
        for cut in &self.cuts {
            match cut {
                Cut::Heading(start) => {
                    cells.extend(self.markdown(at..*start));
                    at = *start;
                }
                Cut::Cell { range, code, runs } => {
                    cells.extend(self.markdown(at..range.start));
                    if code.trim().is_empty() {
                        bail!("a cell of the page is empty");
                    }
                    cells.push(Cell::code(&cell_code(code), *runs));
                    at = range.end;
                }
            }
        }
        cells.extend(self.markdown(at..self.text.len()));
        Ok(cells)
    }

    /// The text in `range` as a cell, unless it is blank.
    fn markdown(&self, range: Range<usize>) -> Option<Cell> {
        // What is put in at a heading's beginning is the heading's, not the end of what comes before.
        let inside = |place: &Range<usize>| {
            place.start >= range.start && place.start < range.end && place.end <= range.end
        };
        let here = |at: usize| at - range.start;
        let edits = self.edits.iter().filter(|(place, _)| inside(place));
        let edits = edits.map(|(place, new)| (here(place.start)..here(place.end), new.clone()));
        let out = unfolded(&edited(&self.text[range.clone()], edits));
        let source = out.trim_matches('\n').trim_end();
        (!source.trim().is_empty()).then(|| Cell::markdown(source))
    }
}

/// A fold can't hold cells: of one that does, the heading stays.
fn unfolded(text: &str) -> String {
    let (mut open, mut edits) = (Vec::new(), Vec::new());
    for (at, name) in text.match_indices("details") {
        if text[..at].ends_with('<') {
            open.push(at - 1);
        } else if text[..at].ends_with("</") && open.pop().is_none() {
            edits.push((at - 2..at + name.len() + 1, String::new()));
        }
    }
    for start in open {
        let (fold, end) = text[start..].split_once("</summary>").unwrap_or_default();
        let heading = fold.split("<summary>").nth(1).unwrap_or_default();
        edits.push((start..text.len() - end.len(), format!("**{heading}**")));
    }
    edited(text, edits)
}
