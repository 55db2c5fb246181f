//! Lists over the whole book, made when it is built: `{{#index WHAT}}`.
//!
//! | WHAT | an item for each | made from |
//! | --- | --- | --- |
//! | `experiments` | experiment | the chapters' crates, the records, and the pages that quote them |
//! | `kernels` | kernel | the head of its file in `chapters/NN-name/kernels`, and the page that quotes it |
//! | `exercises` | exercise | its README, and the page that has it |
//! | `claims` | claim that is tested | the page's box, `> [!CLAIM] …`, and the verdict in it |
//! | `open` | figure or table of a page that no machine has measured | the records |

mod claims;
mod experiments;
mod kernels;
mod words;

use crate::{exercises, html, mention::Mention, quote::Quotes};
use anyhow::{Result, bail};
use lab::Chapter;
use std::{collections::BTreeSet, fmt::Write as _, path::Path};
use words::with_code;

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
    let exercises = if what == "exercises" { exercises::all(root)? } else { Vec::new() };
    let items = |chapter: &Chapter| -> Result<Vec<String>> {
        Ok(match what {
            "experiments" => {
                let all = chapter.experiments.iter();
                all.map(|one| experiments::item(one, chapter, quotes, mentions, up)).collect()
            }
            "kernels" => kernels::items(root, chapter, mentions, up)?,
            "claims" => claims::items(chapter, mentions, up),
            "exercises" => {
                let own = exercises.iter().filter(|exercise| exercise.chapter == chapter.folder());
                own.map(|exercise| item_of_exercise(exercise, mentions, up)).collect()
            }
            _ => bail!(
                "there is no index of `{what}`; there are `claims`, `experiments`, `kernels`, `exercises` and `open`"
            ),
        })
    };
    let groups = quotes.chapters.iter().map(|chapter| Ok((chapter, items(chapter)?)));
    let mut groups = groups.collect::<Result<Vec<_>>>()?;
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
                // After the semicolon comes what to install.
                with_code(why.split("; ").next().unwrap_or(&why))
            );
        }
    }
    if out.is_empty() {
        out.push_str("None: all that the pages show has been measured.\n");
    }
    Ok(out)
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
            with_code(&exercise.readme.title),
            place.page.display(),
            html::value_anchor(&place.argument)
        ),
        None => with_code(&exercise.readme.title),
    };
    format!("{title}: {}. Check: `check {}`.", exercise.readme.effort, exercise.id())
}
