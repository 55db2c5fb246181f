//! Reading time, switches and notebook under a page's title.

use super::{outputs, shared::OnPage};
use crate::{
    docs, html,
    markdown::title_end,
    notebook::WHOLE,
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
    let (section, home) = (!is_opener(page.path), page.path == Path::new("README.md"));
    let reading = (minutes >= 2)
        .then(|| format!("<span class=\"reading-time\">{minutes} minutes to read</span>"));
    let switch = switch(shared.quotes).filter(|_| text.contains("data-machine="));
    // Filled by the theme's script, without which nothing can be asked.
    let asked = text.contains("<span data-ask=");
    let asked = asked.then(|| "<span class=\"ask-switch\"></span>".to_owned());
    let notebook = outputs::notebook(page).filter(|_| !section || text.contains(",cell"));
    let notebook = notebook.as_deref().and_then(Path::file_stem).map(|name| {
        let name = name.display();
        format!(
            "<details class=\"notebook-link\"><summary>Work in the notebook</summary>In your clone, <code>cargo run -- notebooks \
             open {name}</code> opens it in Jupyter. Or <a href=\"{up}notebooks/{name}.ipynb\" download>download the notebook</a>.</details>"
        )
    });
    let repository = shared.repository.filter(|_| home).map(html::attribute);
    let repository = repository.map(|address| {
        format!("<a class=\"repository-link\" href=\"{address}\">The repository</a>")
    });
    let pdf = |name: &str, words: &str| {
        Some(format!("<a class=\"pdf-link\" href=\"{up}pdf/{name}.pdf\">{words} as PDF</a>"))
    };
    let pdf = match page.path.parent() {
        _ if !shared.pdfs || section => None,
        _ if home => pdf("throughput", "The book"),
        folder => folder.and_then(|folder| pdf(&folder.to_string_lossy(), "This chapter")),
    };
    let whole = home.then(|| {
        format!("<a class=\"pdf-link\" href=\"{WHOLE}\" download>The whole text as Markdown</a>")
    });
    let docs = docs::link(shared.docs, shared.quotes.chapters, page.path).map(|link| {
        format!("<a class=\"doc-link\" href=\"{up}{link}\">The crate's documentation</a>")
    });
    [reading, place(page), switch, asked, notebook, repository, whole, pdf, docs]
        .into_iter()
        .flatten()
        .collect()
}

/// Which of its chapter's sections the page is, for the script that shows it in the bar; nothing on other pages.
fn place(page: OnPage) -> Option<String> {
    let folder = page.path.parent().filter(|_| of_chapter(page.path) && !is_opener(page.path))?;
    let paths = page.shared.entries.iter().map(|entry| entry.path.as_path());
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
