//! Markdown as mdBook reads it: where code is, which headings there are, how long it takes to read.

use crate::html;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::{collections::BTreeMap, ops::Range};

/// The Markdown features that mdBook reads, and maths.
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
}

/// A stretch of code in Markdown.
pub struct Code {
    /// Where it is.
    pub range: Range<usize>,
    /// A block between fences.
    pub fenced: bool,
    /// A fence of what a program printed: `text`.
    pub printed: bool,
    /// A fence marked as a notebook's cell.
    pub cell: bool,
    /// A cell that only draws: the page folds it.
    pub drawing: bool,
    /// The code itself, for a fence.
    pub text: String,
}

/// Code blocks and code spans.
pub fn code_ranges(text: &str) -> Vec<Code> {
    let mut all: Vec<Code> = Vec::new();
    let mut open = false;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        let [fenced, printed, cell, drawing] = [false; 4];
        let code = Code { range, fenced, printed, cell, drawing, text: String::new() };
        match event {
            Event::Code(_) => all.push(code),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                open = true;
                let (printed, cell, drawing) = (&*info == "text", is_cell(&info), draws(&info));
                all.push(Code { fenced: true, printed, cell, drawing, ..code });
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                open = true;
                all.push(code);
            }
            Event::Text(part) if open => {
                if let Some(code) = all.last_mut() {
                    code.text.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            _ => {}
        }
    }
    all
}

/// The words behind a fence's three backticks.
pub fn words(info: &str) -> impl Iterator<Item = &str> {
    info.split([',', ' ']).filter(|word| !word.is_empty())
}

/// Whether a fence's info string marks a notebook's cell: `rust,cell`.
pub fn is_cell(info: &str) -> bool {
    let mut words = words(info);
    words.next() == Some("rust") && words.any(|word| word == "cell")
}

/// Whether it marks a cell that only draws: `rust,cell,figure`.
pub fn draws(info: &str) -> bool {
    is_cell(info) && words(info).any(|word| word == "figure")
}

/// A cell's code as its notebook has it. A line that begins with `# ` is hidden on the page, as everywhere in Rust's
/// documentation, and `##` is one `#`: the notebook has these lines without the sign.
pub fn cell_code(code: &str) -> String {
    let line = |line: &str| {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let rest = match rest.strip_prefix('#') {
            Some(rest) if rest.starts_with('#') => rest,
            Some("") => "",
            Some(hidden) => hidden.strip_prefix(' ').unwrap_or(rest),
            None => rest,
        };
        format!("{indent}{rest}")
    };
    code.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether the page hides a cell's line.
fn is_hidden(line: &str) -> bool {
    let line = line.trim_start();
    line == "#" || line.starts_with("# ")
}

/// A heading of a page.
pub struct Heading {
    /// Where it begins.
    pub at: usize,
    /// Its text without marks.
    pub text: String,
    /// The anchor that mdBook gives it.
    pub anchor: String,
    /// Whether it is the page's title.
    pub title: bool,
}

impl Heading {
    /// The anchor that Jupyter gives it.
    pub fn in_jupyter(&self) -> String {
        self.text.replace(' ', "-")
    }
}

/// The headings of a page, in order.
pub fn headings(source: &str) -> Vec<Heading> {
    let mut all: Vec<Heading> = Vec::new();
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: Option<(usize, Option<String>, String)> = None;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { id, .. }) => {
                open = Some((range.start, id.map(|id| id.to_string()), String::new()));
            }
            Event::Text(part) | Event::Code(part) | Event::InlineMath(part) => {
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
                all.push(Heading { at, text, anchor, title: level == HeadingLevel::H1 });
            }
            _ => {}
        }
    }
    all
}

/// The sentences of a text, one behind the other: each ends with one of these characters before a space.
pub fn sentences<'t>(text: &'t str, stops: &str) -> Vec<&'t str> {
    let (mut all, mut start) = (Vec::new(), 0);
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if stops.contains(c) && text[end..].starts_with(char::is_whitespace) {
            all.push(&text[start..end]);
            start = end;
        }
    }
    all.push(&text[start..]);
    all
}

/// A text that begins with a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// A page with this sign for every `{{#…}}`: no lines are lost, and no words of what a directive says are left.
pub fn without_directives(page: &str, sign: char) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{#") {
        out.push_str(before);
        out.push(sign);
        rest = after.split_once("}}").map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// Where the title ends.
pub fn title_end(text: &str) -> Option<usize> {
    Parser::new_ext(text, options()).into_offset_iter().find_map(|(event, range)| match event {
        Event::End(TagEnd::Heading(HeadingLevel::H1)) => Some(range.end),
        _ => None,
    })
}

/// Minutes to read a page: 200 words of prose a minute, and two seconds for a line of code that is seen. What is folded,
/// such as a hint or a solution, is not seen: an exercise has minutes of its own.
pub fn reading_minutes(text: &str) -> u64 {
    let (mut words, mut lines, mut fence, mut folded) = (0, 0, None, 0_usize);
    for event in Parser::new_ext(text, options()) {
        match (event, fence) {
            (Event::Html(html) | Event::InlineHtml(html), _) => {
                folded += html.matches("<details").count();
                folded = folded.saturating_sub(html.matches("</details>").count());
            }
            (Event::Text(_) | Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_), _)
                if folded > 0 => {}
            (Event::Start(Tag::CodeBlock(kind)), _) => {
                let info = if let CodeBlockKind::Fenced(info) = kind { info } else { "".into() };
                let seen: fn(&str) -> bool = match is_cell(&info) {
                    true if draws(&info) => |_| false,
                    true => |line| !is_hidden(line),
                    false => |_| true,
                };
                fence = Some(seen);
            }
            (Event::End(TagEnd::CodeBlock), _) => fence = None,
            (Event::Text(part), Some(seen)) => {
                lines += part.lines().filter(|line| seen(line)).count() as u64;
            }
            (Event::Text(part), None) => words += part.split_whitespace().count() as u64,
            (Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_), _) => words += 1,
            _ => {}
        }
    }
    ((words * 60).div_ceil(200) + 2 * lines).div_ceil(60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_takes_time_for_words_and_for_code() {
        assert_eq!(reading_minutes("# Title\n"), 1);
        assert_eq!(reading_minutes(&"word ".repeat(1000)), 5);
        let code = format!("```rust\n{}```\n", "let a = 1;\n".repeat(60));
        assert_eq!(reading_minutes(&code), 2);
        let hidden = format!("```rust,cell\n{}let a = 1;\n```\n", "# use b::C;\n".repeat(60));
        assert_eq!(reading_minutes(&hidden), 1, "nobody reads what is hidden");
        assert_eq!(reading_minutes(&hidden.replace("rust,cell", "sh")), 3, "a comment is read");
        assert_eq!(reading_minutes(&code.replace("```rust", "```rust,cell,figure")), 0, "folded");
        let hint = format!("<details><summary>Hint</summary>\n\n{code}\n</details>\n\n{code}");
        assert_eq!(reading_minutes(&hint), 2, "a hint is folded");
    }

    #[test]
    fn hidden_lines_are_in_the_notebook() {
        let page = "# use a::B;\n#\n#[test]\n## one\nfn f() {\n    # let x = 1;\n    x\n}\n";
        assert_eq!(
            cell_code(page),
            "use a::B;\n\n#[test]\n# one\nfn f() {\n    let x = 1;\n    x\n}"
        );
    }

    #[test]
    fn cells_are_rust_and_marked() {
        assert!(is_cell("rust,cell") && is_cell("rust,cell,should_panic"));
        assert!(!is_cell("rust") && !is_cell("text,cell") && !is_cell("rust,cells"));
    }
}
