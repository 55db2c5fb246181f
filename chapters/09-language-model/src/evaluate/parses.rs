//! Is it Rust? The parser `syn` decides, the one that procedural macros use: grammar alone, no names and no types.
//!
//! A sample ends after so many lines, in the middle of a function more often than not, and a parser accepts no half function.
//! So there are two verdicts. *Whole*: the text parses as it stands. *Closed*: it parses after the brackets, strings and comments
//! that are still open have been closed, and after at most a quarter of its lines were taken from its end. Comments alone are
//! no Rust: there must be an item or a statement.

use std::thread;
use syn::{
    Block, Stmt,
    parse::{Parse, ParseStream, Parser},
};

/// The longest text that is looked at.
pub const LONGEST: usize = 8 << 10;

/// Enough for a text of nothing but opening brackets: the parser calls itself for each.
const STACK: usize = 512 << 20;

/// How a text parses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// As it stands.
    pub whole: bool,
    /// Closed, and without some of its last lines.
    pub closed: bool,
}

/// How each of these texts parses.
///
/// # Errors
/// [`lab::Error::Skipped`] if the machine has no thread with so large a stack, or the parser panics.
pub fn verdicts<'t>(texts: impl IntoIterator<Item = &'t str> + Send) -> lab::Result<Vec<Verdict>> {
    let all = || texts.into_iter().map(verdict_here).collect::<Vec<_>>();
    thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, all);
        let parsed = parser.ok().and_then(|parser| parser.join().ok());
        let [what, why] =
            ["samples that parse", "the parser ended without a verdict"].map(Into::into);
        parsed.ok_or(lab::Error::Skipped { what, why })
    })
}

/// How a text parses.
///
/// # Errors
/// As [`verdicts`].
pub fn verdict(text: &str) -> lab::Result<Verdict> {
    Ok(verdicts([text])?.pop().unwrap_or_default())
}

fn verdict_here(text: &str) -> Verdict {
    if text.len() > LONGEST {
        return Verdict::default();
    }
    let whole = is_rust(text);
    let lines: Vec<&str> = text.lines().collect();
    let least = lines.len() - lines.len() / 4;
    let closed = |count: &usize| is_rust(&closed(&lines[..*count].join("\n")));
    Verdict { whole, closed: whole || (least..=lines.len()).rev().any(|count| closed(&count)) }
}

/// Whether a text is items or statements, at least one.
fn is_rust(text: &str) -> bool {
    syn::parse_str::<syn::File>(text).is_ok_and(|file| !file.items.is_empty())
        || Statements::parse.parse_str(text).is_ok_and(|Statements(all)| !all.is_empty())
}

struct Statements(Vec<Stmt>);

impl Parse for Statements {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        Block::parse_within(input).map(Self)
    }
}

/// The first so many lines, each with its end.
pub fn first_lines(text: &str, lines: usize) -> &str {
    let end = text.match_indices('\n').nth(lines.saturating_sub(1)).map(|(at, _)| at + 1);
    if lines == 0 { "" } else { &text[..end.unwrap_or(text.len())] }
}

/// The text with what is open at its end closed: a string, comments, brackets.
pub fn closed(text: &str) -> String {
    let mut open = Vec::new();
    let mut inside = None;
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let (skip, end) = token(rest, before);
        inside = end;
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            // One that does not match stays, and the parser refuses it.
            ')' | ']' | '}' if open.last() == Some(&c) => {
                open.pop();
            }
            _ => {}
        }
        before = rest[..skip].chars().next_back().unwrap_or(' ');
        rest = &rest[skip..];
    }
    let mut text = text.to_owned();
    text += &inside.unwrap_or_else(|| "\n".to_owned());
    text.extend(open.iter().rev());
    text
}

/// The bytes of the next comment, string or character, or of one `char` of anything else; and what would end it, if nothing does.
fn token(text: &str, before: char) -> (usize, Option<String>) {
    let ends = |from: usize, end: &str| match text[from..].find(end) {
        Some(at) => (from + at + end.len(), None),
        None => (text.len(), Some(end.to_owned())),
    };
    let in_word = before.is_alphanumeric() || before == '_';
    let raw = text.trim_start_matches(['b', 'c']).strip_prefix('r').filter(|_| !in_word);
    if let Some(hashes) = raw.map(|raw| raw.len() - raw.trim_start_matches('#').len())
        && raw.is_some_and(|raw| raw[hashes..].starts_with('"'))
    {
        let start = text.find('"').map_or(0, |at| at + 1);
        return ends(start, &format!("\"{}", "#".repeat(hashes)));
    }
    match text.as_bytes() {
        [b'/', b'/', ..] => (text.find('\n').unwrap_or(text.len()), None),
        [b'/', b'*', ..] => comment(text),
        [b'"', ..] => quoted(text),
        // A character, or else a lifetime.
        [b'\'', b'\\', after, ..] if after.is_ascii() => ends(3, "'"),
        [b'\'', ..] => {
            let mut chars = text.char_indices().skip(2);
            match chars.next() {
                Some((at, '\'')) => (at + 1, None),
                _ => (1, None),
            }
        }
        _ => (text.chars().next().map_or(1, char::len_utf8), None),
    }
}

/// A comment in /* and */, which may contain others.
fn comment(text: &str) -> (usize, Option<String>) {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return (at, None);
        }
    }
    (text.len(), Some("*/".repeat(depth)))
}

/// A string, in which a backslash hides the next character.
fn quoted(text: &str) -> (usize, Option<String>) {
    let mut hidden = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            '"' => return (at + 1, None),
            _ => {}
        }
    }
    (text.len(), Some(if hidden { "\\\"" } else { "\"" }.to_owned()))
}
