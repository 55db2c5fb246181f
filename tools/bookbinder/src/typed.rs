//! Numbers in prose that were typed by hand: a time, a rate, an energy, a price, a fraction or a
//! factor should come from a record or carry its source.
//!
//! A number counts as typed if it has such a unit and is in running text: not in code, in a formula, in HTML
//! or in a directive such as `{{#measure}}`. Some are excused, because a reader sees where they are from:
//!
//! - a footnote is in the same paragraph;
//! - the paragraph is a prediction (`**Predict.** …`, `**Change this, predict, run.** …`), up to `**Measured`;
//! - the sentence has a formula, or the formula right after the paragraph has the number: it is computed in sight;
//! - the sentence is a question;
//! - the sentence marks it as not measured: "would", "should", "could", "suppose", "at most", "at least",
//!   "predict", "expect".

use crate::markdown::{options, sentences, without_directives};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::fmt;

/// Words that mark a number as not measured.
const SUPPOSED: [&str; 8] =
    ["would", "should", "could", "suppose", "at most", "at least", "predict", "expect"];

/// Units of what one measures; `a second` and `/s` make a unit of any word.
const UNITS: [&str; 32] = [
    "ns", "µs", "ms", "s", "second", "seconds", "minute", "minutes", "hour", "hours", "day",
    "days", "week", "weeks", "W", "kW", "MW", "J", "mJ", "kJ", "Wh", "kWh", "MWh", "GHz", "MHz",
    "times", "percent", "dollar", "dollars", "euro", "euros", "cents",
];

/// In a block's text: a formula, code, and what a directive leaves.
const FORMULA: char = '\u{e000}';
const OTHER: char = '\u{e001}';

/// A number without a record and without a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// The line on which its paragraph begins.
    pub line: usize,
    /// The number with its unit: `83%`.
    pub number: String,
    /// The sentence around it.
    pub sentence: String,
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {} in \"{}\"", self.line, self.number, self.sentence)
    }
}

/// A paragraph, an item of a list, or a whole table.
#[derive(Default)]
struct Block {
    line: usize,
    text: String,
    /// The formulas in it, and the one right after it.
    formulas: Vec<String>,
}

/// The typed numbers of a page, from its Markdown before any directive is expanded.
pub fn numbers(page: &str) -> Vec<Typed> {
    blocks(&without_directives(page, OTHER)).iter().flat_map(in_block).collect()
}

fn blocks(page: &str) -> Vec<Block> {
    // Footnotes and check boxes stay text.
    let options = options() - Options::ENABLE_FOOTNOTES - Options::ENABLE_TASKLISTS;
    let mut all: Vec<Block> = Vec::new();
    let mut block = Block::default();
    let (mut in_table, mut in_code) = (false, false);
    for (event, range) in Parser::new_ext(page, options).into_offset_iter() {
        if block.text.is_empty() {
            block.line = page[..range.start].matches('\n').count() + 1;
        }
        match &event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Table(_)) => in_table = true,
            Event::End(TagEnd::Table) => in_table = false,
            Event::End(TagEnd::TableCell) => block.text.push_str(". "),
            Event::Text(text) if !in_code => {
                block.text.push_str(text);
                continue;
            }
            Event::SoftBreak | Event::HardBreak => block.text.push(' '),
            Event::Code(_) => block.text.push(OTHER),
            Event::InlineMath(tex) => {
                block.formulas.push(tex.to_string());
                block.text.push(FORMULA);
            }
            Event::DisplayMath(tex) => match all.last_mut() {
                // A paragraph of its own, which belongs to the one before.
                Some(before) if block.text.trim().is_empty() => {
                    before.formulas.push(tex.to_string());
                }
                _ => block.formulas.push(tex.to_string()),
            },
            _ => {}
        }
        let ends = matches!(
            event,
            Event::Start(
                Tag::Paragraph | Tag::Item | Tag::Heading { .. } | Tag::Table(_) | Tag::List(_)
            ) | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_) | TagEnd::Table)
        );
        if ends && !in_table && !block.text.trim().is_empty() {
            all.push(std::mem::take(&mut block));
        }
    }
    all
}

fn in_block(block: &Block) -> Vec<Typed> {
    // What a check asks is made up, and its answers are wrong or computed.
    let check = ["[!CHECK]", "[ ]", "[x]"].iter().any(|mark| block.text.starts_with(mark));
    if check || block.text.contains("[^") {
        return Vec::new();
    }
    // Emphasis is gone here, and "Predict." and "Measured:" are where they were. What to change in a cell is a prediction too:
    // its numbers are those of the cell.
    let start = block.text.trim_start();
    let asked =
        start.strip_prefix("Predict").or_else(|| start.strip_prefix("Change this, predict"));
    let text = match asked {
        Some(rest) => rest.find("Measured").map_or("", |at| &rest[at..]),
        None => &block.text,
    };
    let mut found = Vec::new();
    for sentence in sentences(text, ".?!:;") {
        let lower = sentence.to_lowercase();
        let asks = sentence.ends_with('?');
        if asks || sentence.contains(FORMULA) || SUPPOSED.iter().any(|word| lower.contains(word)) {
            continue;
        }
        for number in with_unit(sentence) {
            let digits: String =
                number.chars().take_while(|c| c.is_ascii_digit() || ",.".contains(*c)).collect();
            let computed = |formula: &String| {
                formula
                    .replace("{,}", ",")
                    .split(|c: char| !c.is_ascii_digit() && !",.".contains(c))
                    .any(|part| part.trim_matches(['.', ',']) == digits)
            };
            if !block.formulas.iter().any(computed) {
                let sentence = sentence.replace([FORMULA, OTHER], "…").trim().to_owned();
                found.push(Typed { line: block.line, number: number.to_owned(), sentence });
            }
        }
    }
    found
}

/// The numbers of a sentence that have a unit of what one measures, each with its unit.
fn with_unit(sentence: &str) -> Vec<&str> {
    let (mut found, mut end) = (Vec::new(), 0);
    for (start, c) in sentence.char_indices() {
        let before = sentence[..start].chars().next_back().unwrap_or(' ');
        // Not a part of a name, a size such as 64×64, a range's end or a number that was seen already.
        if start < end
            || !c.is_ascii_digit()
            || before.is_alphanumeric()
            || ".,/·×-".contains(before)
        {
            continue;
        }
        let rest = &sentence[start..];
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
        end = start
            + sentence[start..start + rest.len() - digits.len()].trim_end_matches(['.', ',']).len();
        let money = sentence[..start].trim_end().ends_with(['$', '€']);
        if let Some(length) = unit(&sentence[end..]).or(money.then_some(0)) {
            found.push(&sentence[start..end + length]);
        }
    }
    found
}

/// How long the unit is that a text begins with, and the space before it.
fn unit(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches([' ', '\u{a0}', '-']);
    let space = text.len() - rest.len();
    if rest.starts_with('%') {
        return Some(space + 1);
    }
    if let Some(after) = rest.strip_prefix('×') {
        let factor = !after.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == OTHER);
        return factor.then_some(space + '×'.len_utf8());
    }
    if space == 0 {
        return None;
    }
    let word = |text: &str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '/');
        end.unwrap_or(text.len())
    };
    let first = word(rest);
    if UNITS.contains(&&rest[..first]) || rest[..first].ends_with("/s") {
        return Some(space + first);
    }
    // "images a second", "small steps a second", and not "rank 0 tells twice a second".
    let close: String = rest.split_inclusive(' ').take(4).collect();
    let end = close.find(" a second")?;
    let counted = |word: &str| word.chars().all(char::is_alphabetic) && !word.ends_with("ce");
    close[..end].split(' ').all(counted).then_some(space + end + " a second".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        numbers(page).into_iter().map(|typed| typed.number).collect()
    }

    #[test]
    fn a_typed_result_is_found() {
        for (prose, number) in [
            ("It takes 13 ms here.", "13 ms"),
            ("The second run was 2.5× as fast.", "2.5×"),
            ("It is 4.2 times as fast.", "4.2 times"),
            ("It reads 97.6% of them.", "97.6%"),
            ("It reads **97** percent.", "97 percent"),
            ("That is 1,234.5 GFLOP/s, no less.", "1,234.5 GFLOP/s"),
            ("It trains 9,000 small images a second.", "9,000 small images a second"),
            ("The card costs €1,500 now.", "1,500"),
            ("- one\n- the other needs 8.5 kWh", "8.5 kWh"),
            ("| a | b |\n| --- | --- |\n| 3 | 12 s |\n", "12 s"),
            ("> [!NOTE]\n> It took 3 hours.", "3 hours"),
            ("**Predict.** It is 5 ms. **Measured:** 7 ms.", "7 ms"),
            ("A cell {{#measure a.b}} and 6 GB/s.", "6 GB/s"),
        ] {
            assert_eq!(found(prose), [number], "{prose}");
        }
    }

    #[test]
    fn what_is_no_result_or_has_a_source_is_left_alone() {
        for prose in [
            "It takes {{#measure lab.time n=13 ms}} here.",
            "It takes 13 ms, they write[^paper].",
            "With 64×64 numbers and 3 × 3 tiles, 32 threads, 128 bytes, version 1.2.",
            "At $n = 2$ it is 13 ms.",
            "It runs at 1.98 GHz, so the peak is\n\n$$2 \\cdot 1.98 = 3.96$$",
            "It could take 13 ms. At least 5 ms. One expects 90%.",
            "**Predict.** It takes 13 ms, or 5% more.",
            "**Change this, predict, run.** A link of 10 GB/s, then 5% of it.",
            "`sleep 13 s` and\n\n```text\n13 ms\n```",
            "<p>13 ms</p>",
            "In 2.5D, H100s do it, on page 13.",
            "> [!CHECK] It runs at 5 ms. How fast is it?\n> - [x] 200 per second: $1/5$ of 1 ms. It is 5 ms.",
            "Rank 0 tells twice a second that it lives. Is it 7%?",
        ] {
            assert_eq!(found(prose), Vec::<String>::new(), "{prose}");
        }
    }

    #[test]
    fn it_is_said_where_a_number_stands() {
        let page = "# Title\n\nText.\n\n`It` is 5 ms. It\nis 7 ms.\n";
        let all = numbers(page);
        assert_eq!(all.iter().map(|typed| typed.line).collect::<Vec<_>>(), [5, 5]);
        assert_eq!(all[1].sentence, "It is 7 ms.");
        assert_eq!(all[0].to_string(), "5: 5 ms in \"… is 5 ms.\"");
    }
}
