//! The list of kernels: the comment at the top of each file, and where it is quoted.

use super::words::{sentence, with_code};
use crate::{disk, mention::Mention, text};
use anyhow::Result;
use lab::Chapter;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// The items of a chapter's kernels.
pub(super) fn items(
    root: &Path,
    chapter: &Chapter,
    mentions: &[Mention],
    up: &str,
) -> Result<Vec<String>> {
    let folder = format!("chapters/{}/kernels", chapter.folder());
    let below = root.join(&folder);
    let files = if below.is_dir() { disk::files(&below)? } else { Vec::new() };
    let name = |file: &PathBuf| {
        let name = file.strip_prefix(&below).unwrap_or(file).to_string_lossy().replace('\\', "/");
        Ok((name.contains('/'), name, text::read(file)?))
    };
    let mut files = files.iter().map(name).collect::<Result<Vec<_>>>()?;
    files.sort();
    let items = files.into_iter().map(|(_, name, text)| {
        let head = head(&text);
        let mut out = format!("**`{name}`**: {}", with_code(&head.what));
        for (field, text) in &head.fields {
            let text = match field.as_str() {
                "Shows" => sentence(text),
                "Launch" | "Bug" | "Hides" => text,
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

/// The comment at the top of a kernel's file.
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

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}
