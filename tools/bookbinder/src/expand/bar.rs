//! Reading time, switches and notebook under a page's title.

use super::{outputs, shared::OnPage};
use crate::{
    docs, html,
    markdown::title_end,
    page::{is_opener, of_chapter},
    quote::{
        Quotes, default_machine,
        machine::{self, YOURS},
    },
};
use std::path::Path;

/// `text` with the bar, if it has content. Fewer than two minutes do not count.
pub(super) fn under_title(page: OnPage, text: &str, minutes: u64) -> String {
    let (Some(end), parts) = (title_end(text), parts(page, text, minutes)) else {
        return text.to_owned();
    };
    if parts.is_empty() {
        return text.to_owned();
    }
    format!(
        "{}\n\n<div class=\"page-bar\">{}</div>\n\n{}",
        &text[..end],
        parts.join(" "),
        &text[end..]
    )
}

fn parts(page: OnPage, text: &str, minutes: u64) -> Vec<String> {
    let (shared, up) = (page.shared, page.up());
    let mut parts = Vec::new();
    if minutes >= 2 {
        parts.push(format!("<span class=\"reading-time\">{minutes} minutes to read</span>"));
    }
    parts.extend(place(page));
    if text.contains("data-machine=") {
        parts.extend(switch(shared.quotes));
    }
    if text.contains("<span data-ask=") {
        // Filled by the theme's script, without which nothing can be asked.
        parts.push("<span class=\"ask-switch\"></span>".to_owned());
    }
    let section = !is_opener(page.path);
    if let Some(file) = outputs::notebook(page).filter(|_| !section || text.contains(",cell"))
        && let Some(name) = file.file_stem()
    {
        let name = name.display();
        parts.push(format!(
            "<details class=\"notebook-link\"><summary>Work in the notebook</summary>In your clone, <code>cargo run --release -- notebooks \
             open {name}</code> opens it in Jupyter. Or <a href=\"{up}notebooks/{name}.ipynb\" download>download the notebook</a>.</details>"
        ));
    }
    if let Some(repository) = shared.repository.filter(|_| page.path == Path::new("README.md")) {
        parts.push(format!(
            "<a class=\"repository-link\" href=\"{}\">The repository</a>",
            html::attribute(repository)
        ));
    }
    if shared.pdfs && page.path == Path::new("README.md") {
        parts.push(
            "<a class=\"pdf-link\" href=\"pdf/throughput.pdf\">The book as PDF</a>".to_owned(),
        );
    }
    if shared.pdfs
        && of_chapter(page.path)
        && !section
        && let Some(folder) = page.path.parent()
    {
        let folder = folder.display();
        parts.push(format!(
            "<a class=\"pdf-link\" href=\"{up}pdf/{folder}.pdf\">This chapter as PDF</a>"
        ));
    }
    if let Some(link) = docs::link(shared.docs, shared.quotes.chapters, page.path) {
        parts.push(format!(
            "<a class=\"doc-link\" href=\"{up}{link}\">The crate's documentation</a>"
        ));
    }
    parts
}

/// Which of its chapter's sections the page is, for the script that shows it in the bar; nothing on other pages.
fn place(page: OnPage) -> Option<String> {
    let folder = page.path.parent().filter(|_| of_chapter(page.path) && !is_opener(page.path))?;
    let paths = page.shared.entries.iter().filter_map(|entry| entry.path.as_deref());
    let sections: Vec<&Path> =
        paths.filter(|path| path.parent() == Some(folder) && !is_opener(path)).collect();
    let at = sections.iter().position(|path| *path == page.path)?;
    Some(format!("<span class=\"chapter-place\">Section {} of {}</span>", at + 1, sections.len()))
}

/// The machines that the page has numbers of.
fn switch(quotes: Quotes) -> Option<String> {
    let first = default_machine(quotes.records)?;
    let options: Vec<String> = quotes
        .records
        .iter()
        .map(|records| {
            let label = machine::label(records).replace(';', ",");
            let yours = records.name == YOURS;
            let label = if yours { label.replacen("yours", "your machine", 1) } else { label };
            format!("{}={label}", records.name)
        })
        .collect();
    Some(format!(
        "<span class=\"machine-switch\" data-default=\"{}\" data-machines=\"{}\">Numbers from {}</span>",
        html::attribute(&first.name),
        html::attribute(&options.join(";")),
        html::text(&first.name)
    ))
}
