//! From a page's source to what mdBook or a notebook reads.
//!
//! | in the source | on the page |
//! | --- | --- |
//! | `{{#include path:anchor}}` | the quoted lines, see [`mod@crate::include`] |
//! | `{{#measure KEY p=v … [of-limit\|as-flop] [@MACHINE]}}` | a measured number, see [`crate::quote`] |
//! | `{{#measure KEY … ask: Its rate}}` | a number that answers a prediction: with "Ask me first" the reader says it before its paragraph shows |
//! | `{{#verdict ✔ A > B [@MACHINE]}}` | the mark; the build stops if the reference machine's record says another one. The rule is a [`lab::fence::Rule`], in which `printed "LABEL"` is the number behind these words in what the cell above has printed; an `…` among them passes over anything |
//! | a fence `figure KEY` or `table KEY` | a figure, a table, as [`lab::fence`] describes |
//! | `{{#figure KEY}}`, `{{#table KEY}}` | the same that another page declares or a chapter draws |
//! | `{{#exercise CHAPTER/NAME}}` | the exercise's box |
//! | `{{#diagram FILE.svg Caption}}` | a drawing that lies next to the page, see [`crate::directive::diagram`] |
//! | `{{#kernel CHAPTER/FILE}}` | a kernel's source for the page's scripts, see [`crate::directive::kernel`] |
//! | `{{#term KEY}}`, `{{#term KEY as it reads}}` | a link to the glossary |
//! | `{{#sections}}` | the sections of a chapter, on its opener, see [`crate::directive::sections`] |
//! | `{{#minutes PAGE …}}` | the minutes that these pages take to read; of a chapter, `01-matmul` |
//! | `{{#map times}}` and more | what the chapters take, see [`crate::directive::map`] |
//! | `{{#index WHAT}}` | all experiments, kernels or exercises, see [`crate::directive::index`] |
//! | `{{#bibliography}}` | every source, with the pages that cite it; what follows it on the page are the sources |
//! | `$…$`, `$$…$$` | a formula |
//! | `[^key]` | a footnote from the bibliography |
//! | `> [!CLAIM] …` | the box of a claim that is tested |
//! | `> [!CHECK] …` | a question with answers to choose from: `- [ ] ANSWER: WHY` each, `[x]` for the right one; where it is a number, a formula of its sentence has to compute it |
//! | a fence `rust,cell` | code with the output that the notebook recorded; `rust,cell,figure` only draws, and is folded |
//! | `<some-element>` … `</some-element>` | an element of the book's scripts; in a notebook only its content |
//!
//! A backslash before `{{#` leaves the text as it is. In code, `{{#include}}` alone is expanded.
//!
//! The passes in their order: `directives`, `boxes`, `elements`, `outputs`, `marks`, `bar`; once all pages are
//! through them, `finish`.

mod bar;
mod boxes;
mod check;
mod directives;
mod elements;
mod finish;
mod marks;
mod outputs;
mod shared;

pub use finish::{all_cited, finish};
pub use shared::Shared;

use crate::{found, markdown, page::Flavour, sources};
use anyhow::Result;
use shared::OnPage;
use std::path::Path;

/// Expands the page at `path` (relative to `book/src`).
///
/// # Errors
/// If the page names something that does not exist or is wrong. The message starts with the page and,
/// where it is known, the line.
pub fn page(shared: &mut Shared, path: &Path, source: &str) -> Result<String> {
    let flavour = shared.flavour;
    let page = OnPage { shared: &*shared, path };
    let directives::Expanded { text, terms, measures } = directives::expand(page, source)?;
    let text = boxes::expand(page, &text)?;
    let text = match flavour {
        Flavour::Html => outputs::under_cells(&text, outputs::recorded(page)?.as_ref()),
        Flavour::Notebook => elements::without(&text),
    };
    let (text, cited) = marks::expand(page, &text, source)?;
    let minutes = markdown::reading_minutes(&text);
    let text = match flavour {
        Flavour::Html => {
            let shown = if is_read(path, source) { minutes } else { 0 };
            bar::under_title(page, &text, shown) + &shared.quotes.reasons(&measures)?
        }
        Flavour::Notebook => text,
    };
    for key in cited {
        shared.cited.entry(key).or_default().insert(path.to_owned());
    }
    let headings = markdown::headings(source);
    for key in terms {
        let term = shared.glossary.get(&key);
        let named = term.is_some_and(|term| found::is_named(&term.name, &headings));
        shared.used.entry(key).or_default().push((path.to_owned(), named));
    }
    shared.minutes.insert(path.to_owned(), minutes);
    Ok(text)
}

/// Whether a page is read from top to bottom; a list is looked up.
fn is_read(path: &Path, source: &str) -> bool {
    let list =
        [sources::GLOSSARY, sources::BIBLIOGRAPHY].iter().any(|page| path == Path::new(page));
    !list && !source.contains("{{#index ")
}
