//! A check with answers to choose from: each folds out to the sentence that it teaches.
//!
//! ```text
//! > [!CHECK] How fast is the loop?
//! > - [ ] 4 GFLOP/s: That counts the number that is written. Two more are read.
//! > - [x] 1.3 GFLOP/s: One addition on twelve bytes, $16/12 = 1.3$.
//! ```

use crate::{arithmetic, html};
use anyhow::{Context as _, Result, ensure};
use std::{collections::BTreeSet, fmt::Write as _};

/// The question, and below it the answers.
///
/// # Errors
/// If not one answer is right, an answer or its sentence is missing or there twice, or the right answer is a number that no
/// formula of its sentence computes.
pub(super) fn folded(check: &str) -> Result<String> {
    let mut lines = check.split("\n> - ");
    let asked = lines.next().unwrap_or_default();
    let mut made = format!("<div class=\"check\">\n\n**Check:** {asked}\n");
    let (mut seen, mut rights, mut wrongs) = (BTreeSet::new(), 0, 0);
    for line in lines {
        let right = line.starts_with("[x] ");
        let answer = line.strip_prefix(if right { "[x] " } else { "[ ] " });
        let (answer, why) =
            answer.and_then(|answer| answer.split_once(": ")).with_context(|| {
                format!("`{line}` is not `- [ ] ANSWER: WHY`, or `[x]` for the right one")
            })?;
        let whole = why.ends_with(['.', '!', '?', ')']) && !why.starts_with(char::is_lowercase);
        ensure!(whole, "`{answer}` lacks a sentence that teaches");
        let new = seen.insert(answer.to_lowercase()) && seen.insert(why.to_lowercase());
        ensure!(new, "`{answer}`, or its sentence, is there twice");
        if right {
            let formulas: Vec<_> = why.split('$').skip(1).step_by(2).collect();
            let computed = formulas.iter().any(|tex| arithmetic::gives(tex, answer) != Some(false));
            let words = arithmetic::gives("", answer).is_none();
            ensure!(words || computed, "no formula of its sentence computes `{answer}`");
        }
        (rights, wrongs) = (rights + usize::from(right), wrongs + usize::from(!right));
        let (class, word) = if right { ("yes", "Yes") } else { ("no", "No") };
        let answer = html::attribute(answer);
        let fold = format!("<details class=\"{class}\"><summary>{answer}</summary>");
        let _ = write!(made, "\n{fold}\n\n{word}. {why}\n\n</details>\n");
    }
    ensure!(rights == 1 && wrongs > 0, "{rights} answers are right, and {wrongs} wrong");
    Ok(made + "\n</div>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_one_right_answer_and_every_answer_teaches() {
        let [wrong, right] = ["\n> - [ ] 4: Two are read.", "\n> - [x] 1.3: It is $16/12$."];
        let made = folded(&format!("How fast?{wrong}{right}")).unwrap();
        assert!(made.contains("<summary>1.3</summary>\n\nYes. It is $16/12$."), "{made}");
        for (answers, why) in [
            (wrong.to_owned(), "0 answers are right"),
            (right.to_owned(), "and 0 wrong"),
            (format!("{right}{wrong}\n> - [x] Two: It is."), "2 answers are right"),
            (format!("{wrong}{wrong}{right}"), "is there twice"),
            (format!("{right}\n> - [ ] 5"), "is not `- [ ] ANSWER: WHY`"),
            (format!("{right}\n> - [ ] 5: "), "lacks a sentence"),
            (format!("{right}\n> - [ ] 5: it is 5: It is not."), "lacks a sentence"),
            (format!("{wrong}\n> - [x] 1.4: It is $16/12$."), "no formula"),
            (format!("{wrong}\n> - [x] 1.4: It is."), "no formula"),
        ] {
            let error = folded(&format!("How fast?{answers}")).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
