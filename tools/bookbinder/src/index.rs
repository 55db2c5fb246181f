//! Lists of what the whole book holds, made when it is built: `{{#index WHAT}}`.
//!
//! | WHAT | an item for each | made from |
//! | --- | --- | --- |
//! | `experiments` | experiment | the chapters' crates, the records, and the pages that quote them |
//! | `kernels` | kernel | the head of its file in `chapters/NN-name/kernels`, and the page that quotes it |
//! | `exercises` | exercise | its README, and the page that has it |
//! | `open` | figure or table of a page that no machine has measured | the records |

use crate::{
    exercises, html,
    quote::{self, Quotes},
};
use anyhow::{Context, Result, bail};
use lab::{Chapter, Experiment, record::is_below};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// A directive of a page, and the heading that it stands below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The directive's name: `figure`.
    pub name: String,
    /// What stands behind the name.
    pub argument: String,
    /// The page, relative to `book/src`.
    pub page: PathBuf,
    /// The heading's text.
    pub heading: String,
    /// The heading's anchor; none for the page's title.
    pub anchor: Option<String>,
}

impl Mention {
    /// A link to the heading, from a page that is `up` below the book's root.
    fn link(&self, up: &str) -> String {
        let anchor = self.anchor.as_ref().map_or(String::new(), |anchor| format!("#{anchor}"));
        format!("[{}]({up}{}{anchor})", html::text(&self.heading), self.page.display())
    }

    /// [`Mention::link`] at the end of a sentence: a heading that asks needs no other stop.
    fn last(&self, up: &str) -> String {
        let stop = if self.heading.ends_with(['?', '!']) { "" } else { "." };
        self.link(up) + stop
    }

    /// The key of a quoted record; of an include, the file.
    fn first(&self) -> &str {
        self.argument.split_whitespace().next().unwrap_or("")
    }
}

/// Every directive of a page, in order.
pub fn mentions(page: &Path, source: &str) -> Vec<Mention> {
    let headings = headings(source);
    let mut found = Vec::new();
    for (at, _) in source.match_indices("{{#") {
        let Some((body, _)) = source[at + 3..].split_once("}}") else { continue };
        if source[..at].ends_with('\\') || body.contains('\n') {
            continue;
        }
        let (name, argument) = body.trim().split_once(char::is_whitespace).unwrap_or((body, ""));
        let above = headings.iter().rev().find(|heading| heading.at < at);
        found.push(Mention {
            name: name.to_owned(),
            argument: argument.trim().to_owned(),
            page: page.to_owned(),
            heading: above.map(|heading| heading.text.clone()).unwrap_or_default(),
            anchor: above.and_then(|heading| heading.anchor.clone()),
        });
    }
    found
}

struct Heading {
    at: usize,
    text: String,
    anchor: Option<String>,
}

/// The headings of a page with the anchors that mdBook gives them.
fn headings(source: &str) -> Vec<Heading> {
    let mut all: Vec<Heading> = Vec::new();
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: Option<(usize, Option<String>, String)> = None;
    for (event, range) in Parser::new_ext(source, crate::expand::options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { id, .. }) => {
                open = Some((range.start, id.map(|id| id.to_string()), String::new()));
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some((.., text)) = &mut open {
                    text.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(level)) => {
                let Some((at, id, text)) = open.take() else { continue };
                let slug = id.unwrap_or_else(|| html::slug(&text));
                let times = used.entry(slug.clone()).or_default();
                let anchor = if *times == 0 { slug } else { format!("{slug}-{times}") };
                *times += 1;
                let title = level == pulldown_cmark::HeadingLevel::H1;
                all.push(Heading { at, text, anchor: (!title).then_some(anchor) });
            }
            _ => {}
        }
    }
    all
}

/// The list `what`, for a page that is `up` below the book's root.
///
/// # Errors
/// If there is no such list, or a file that it is made from can't be read.
pub fn list(
    what: &str,
    root: &Path,
    quotes: Quotes,
    mentions: &[Mention],
    up: &str,
) -> Result<String> {
    if what == "open" {
        return open(quotes, mentions, up);
    }
    let mut groups = Vec::new();
    for chapter in quotes.chapters {
        let items = match what {
            "experiments" => chapter
                .experiments
                .iter()
                .map(|experiment| item_of_experiment(experiment, chapter, quotes, mentions, up))
                .collect(),
            "kernels" => kernels(root, chapter, mentions, up)?,
            "exercises" => Vec::new(),
            _ => bail!(
                "there is no index of `{what}`; there are `experiments`, `kernels`, `exercises` and `open`"
            ),
        };
        groups.push((chapter, items));
    }
    if what == "exercises" {
        for exercise in exercises::all(root)? {
            let item = item_of_exercise(&exercise, mentions, up);
            if let Some((_, items)) =
                groups.iter_mut().find(|(chapter, _)| quote::folder(chapter) == exercise.chapter)
            {
                items.push(item);
            }
        }
    }
    groups.retain(|(_, items)| !items.is_empty());
    let count: usize = groups.iter().map(|(_, items)| items.len()).sum();
    // Some of a kernel's files are put before others.
    let things = if what == "kernels" { "files" } else { what };
    let mut out = format!("There are {count} {things} in {} chapters.\n", groups.len());
    for (chapter, items) in groups {
        let _ = write!(out, "\n### {}. {}\n\n", chapter.number, html::text(chapter.title));
        for item in items {
            let _ = writeln!(out, "- {item}");
        }
    }
    Ok(out)
}

/// The figures and tables of the pages that no machine has measured, with the reason.
fn open(quotes: Quotes, mentions: &[Mention], up: &str) -> Result<String> {
    let mut out = String::new();
    let mut seen = BTreeSet::new();
    for mention in mentions {
        let table = mention.name == "table";
        if !(table || mention.name == "figure") || !seen.insert((table, mention.first())) {
            continue;
        }
        if let Some(why) = quotes.missing(mention.first(), table)? {
            let _ = writeln!(
                out,
                "- The {} `{}` in {}: {}.",
                mention.name,
                mention.first(),
                mention.link(up),
                // Behind the semicolon stands what to install.
                with_code(why.split("; ").next().unwrap_or(&why))
            );
        }
    }
    if out.is_empty() {
        out.push_str("None: all that the pages show has been measured.\n");
    }
    Ok(out)
}

fn item_of_experiment(
    experiment: &Experiment,
    chapter: &Chapter,
    quotes: Quotes,
    mentions: &[Mention],
    up: &str,
) -> String {
    let mut out = format!(
        "<span id=\"experiment-{}\"></span>**`{}`**: {}.",
        html::value_anchor(experiment.key),
        experiment.key,
        with_code(experiment.shows)
    );
    if let Some(place) = shown(experiment, chapter, quotes.chapters, mentions) {
        let _ = write!(out, " Shown in {}", place.last(up));
    }
    let full = if experiment.quick { "" } else { " --budget full" };
    let _ = write!(out, " Run: `measure {}{full}`.", experiment.key);
    let measured: Vec<String> = quotes
        .records
        .iter()
        .filter_map(|records| {
            let run = records.runs().find(|run| run.experiment == experiment.key)?;
            let page = quote::records_page(&records.name);
            let link = format!("[{}]({up}{page}{})", records.name, quote::run_anchor(run));
            let nothing =
                if run.values.is_empty() { " (nothing that it could measure)" } else { "" };
            Some(link + nothing)
        })
        .collect();
    if measured.is_empty() {
        out.push_str(" Not measured yet.");
    } else {
        let _ = write!(out, " Record: {}.", measured.join(", "));
    }
    out
}

/// The first place that shows what an experiment measured: a figure or a table before a number, and its own
/// chapter before any other.
fn shown<'m>(
    experiment: &Experiment,
    chapter: &Chapter,
    chapters: &[Chapter],
    mentions: &'m [Mention],
) -> Option<&'m Mention> {
    let owner = |key: &str| {
        let all = chapters.iter().flat_map(|chapter| &chapter.experiments);
        all.filter(|experiment| is_below(key, experiment.key)).max_by_key(|e| e.key.len())
    };
    let rank = |mention: &Mention| {
        let key = mention.first();
        let number = match mention.name.as_str() {
            "figure" | "table" if owner(key).is_some_and(|found| found.key == experiment.key) => {
                false
            }
            "measure" if experiment.values.contains(&key) => true,
            _ => return None,
        };
        Some((!mention.page.starts_with(quote::folder(chapter)), number))
    };
    let ranked = mentions.iter().filter_map(|mention| Some((rank(mention)?, mention)));
    // Of the equally good ones, `min_by_key` takes the first.
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, mention)| mention)
}

/// The items of a chapter's kernels.
fn kernels(root: &Path, chapter: &Chapter, mentions: &[Mention], up: &str) -> Result<Vec<String>> {
    let folder = format!("chapters/{}/kernels", quote::folder(chapter));
    let mut files = Vec::new();
    below(&root.join(&folder), "", &mut files)?;
    files.sort_by_key(|(name, _)| (name.contains('/'), name.clone()));
    let items = files.into_iter().map(|(name, text)| {
        let head = head(&text);
        let mut out = format!("**`{name}`**: {}", with_code(&head.what));
        for (field, text) in &head.fields {
            let text = match field.as_str() {
                "Shows" => sentence(text),
                "Launch" | "Mistake" | "Hides" => text,
                _ => continue,
            };
            let _ = write!(out, " *{field}:* {}", with_code(text));
        }
        let place = mentions.iter().find(|mention| match mention.name.as_str() {
            "include" => {
                let file = mention.argument.split(':').next().unwrap_or("");
                file.ends_with(&format!("{folder}/{name}"))
            }
            "kernel" => mention.argument == format!("{}/{name}", chapter.name),
            _ => false,
        });
        if let Some(place) = place {
            let _ = write!(out, " Quoted in {}", place.last(up));
        }
        out
    });
    Ok(items.collect())
}

/// Every file in and below `folder`, by its name from there, with its text.
fn below(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    let entries =
        fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            below(&path, &format!("{name}/"), files)?;
        } else {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("can't read {}", path.display()))?;
            files.push((name, text));
        }
    }
    Ok(())
}

/// What the comment at the top of a kernel's file says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    /// The first paragraph.
    what: String,
    /// `Shows`, `Launch`, `Reads` and so on, in order.
    fields: Vec<(String, String)>,
}

fn head(text: &str) -> Head {
    let mut head = Head::default();
    let mut first = true;
    for line in text.lines().map_while(|line| line.strip_prefix("//")) {
        if line.trim().is_empty() {
            first = false;
        } else if first {
            join(&mut head.what, line.trim());
        } else if let Some((field, text)) = field(line) {
            head.fields.push((field.to_owned(), text.to_owned()));
        } else if let Some((_, text)) = head.fields.last_mut() {
            let line = line.trim();
            join(text, line.strip_prefix("- ").unwrap_or(line));
        }
    }
    head
}

/// ` Shows     that …`: one space, a word, and at least two more.
fn field(line: &str) -> Option<(&str, &str)> {
    let (field, text) = line.strip_prefix(' ')?.split_once("  ")?;
    let word = field.starts_with(char::is_uppercase) && field.chars().all(char::is_alphabetic);
    word.then(|| (field, text.trim()))
}

/// The first sentence: a stop and a capital letter after it end one.
fn sentence(text: &str) -> &str {
    let ends = |at: usize| text[at + 2..].starts_with(char::is_uppercase);
    match text.match_indices(". ").find(|(at, _)| ends(*at)) {
        Some((at, _)) => &text[..=at],
        None => text,
    }
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

fn item_of_exercise(exercise: &exercises::Exercise, mentions: &[Mention], up: &str) -> String {
    let place = mentions.iter().find(|mention| {
        mention.name == "exercise"
            && mention.page.starts_with(&exercise.chapter)
            && mention.argument.rsplit('/').next() == Some(exercise.name.as_str())
    });
    let title = match place {
        Some(place) => format!(
            "[{}]({up}{}#exercise-{})",
            with_code(&exercise.title),
            place.page.display(),
            html::value_anchor(&place.argument)
        ),
        None => with_code(&exercise.title),
    };
    format!("{title}: {}. Check: `check {}`.", exercise.effort, exercise.id())
}

/// Plain text in Markdown: what stands between backticks is code, nothing else means anything.
fn with_code(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        let _ = match at % 2 {
            0 => write!(out, "{}", html::text(part)),
            _ => write!(out, "`{part}`"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_knows_the_heading_above_it() {
        let source = "# Title\n\n{{#figure a.b}}\n\n## One `of` two\n\n\\{{#figure no}}\n\n```rust\n\
                      {{#include x/y.rs:part}}\n```\n\n## One of two\n\nA {{#measure a.c n=1}}.\n\n\
                      ## Named {#here}\n\n{{#route}}\n";
        let found = mentions(Path::new("01-a/README.md"), source);
        let short: Vec<_> = found
            .iter()
            .map(|m| (m.name.as_str(), m.first(), m.anchor.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            short,
            [
                ("figure", "a.b", "-"),
                ("include", "x/y.rs:part", "one-of-two"),
                ("measure", "a.c", "one-of-two-1"),
                ("route", "", "here"),
            ]
        );
        assert_eq!(found[1].last("../"), "[One of two](../01-a/README.md#one-of-two).");
        let asked = Mention { heading: "Who?".to_owned(), ..found[0].clone() };
        assert_eq!(asked.last(""), "[Who?](01-a/README.md)");
    }

    #[test]
    fn a_head_has_its_first_paragraph_and_its_fields() {
        let text = "// One thread for each number,\n// and `more`.\n//\n// Shows     that it works:\n\
                    //           twice.\n// Launch    blocks of N×N.\n\n// not here\nfloat x;\n";
        let head = head(text);
        assert_eq!(head.what, "One thread for each number, and `more`.");
        let fields: Vec<_> = head.fields.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(fields, [("Shows", "that it works: twice."), ("Launch", "blocks of N×N.")]);
    }

    #[test]
    fn text_is_text_except_for_code() {
        assert_eq!(with_code("a*b of `c*d`"), "a&#42;b of `c*d`");
        assert_eq!(sentence("From 8.0 on, e.g. here. And more. More."), "From 8.0 on, e.g. here.");
        assert_eq!(sentence("all of it"), "all of it");
    }

    #[test]
    fn a_figure_of_the_own_chapter_comes_before_a_number_and_before_other_chapters() {
        let experiment =
            |key, values| Experiment { key, shows: "it", values, quick: true, run: |_| Ok(()) };
        let chapter = |number, name, experiments| Chapter {
            number,
            name,
            title: "",
            experiments,
            figures: Vec::new(),
            tables: Vec::new(),
        };
        let chapters = [
            chapter(1, "a", vec![experiment("a.x", &["a.x"]), experiment("a.x.y", &["a.x.y"])]),
            chapter(2, "b", Vec::new()),
        ];
        let all = [
            mentions(Path::new("02-b/README.md"), "## Else\n\n{{#table a.x}}\n"),
            mentions(
                Path::new("01-a/README.md"),
                "## Number\n\n{{#measure a.x}}\n\n## Other\n\n{{#figure a.x.y.z}}\n\n## Figure\n\n\
                 {{#figure a.x.part}}\n",
            ),
        ]
        .concat();
        let place = |at: usize| {
            let experiment = &chapters[0].experiments[at];
            shown(experiment, &chapters[0], &chapters, &all).unwrap().heading.clone()
        };
        assert_eq!((place(0).as_str(), place(1).as_str()), ("Figure", "Other"));
    }
}
