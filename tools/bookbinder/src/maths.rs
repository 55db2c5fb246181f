//! `TeX` to `MathML`, when the book is built: a page needs no script for its formulas.

use crate::html;
use anyhow::{Result, anyhow};
use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};

/// `tex` as `MathML` that can be inside a paragraph of Markdown. The `TeX` goes along as an annotation, so
/// that it can be copied.
///
/// # Errors
/// If the `TeX` is wrong or uses a command that is not known; the message quotes it.
pub fn mathml(tex: &str, block: bool) -> Result<String> {
    let config = MathCoreConfig { annotation: true, ..MathCoreConfig::default() };
    let converter =
        LatexToMathML::new(config).map_err(|e| anyhow!("the maths can't be set up: {e:?}"))?;
    let display = if block { MathDisplay::Block } else { MathDisplay::Inline };
    let made = converter
        .convert_with_local_state(tex, display)
        .map_err(|e| anyhow!("the formula `{}` is wrong: {e}", tex.trim()))?;
    Ok(html::inline(&made.mathml))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_mathml_on_one_line() {
        let inline = mathml("C = A \\cdot B", false).unwrap();
        assert!(inline.starts_with("<math") && inline.ends_with("</math>"), "{inline}");
        assert!(inline.contains("<mi>C</mi>") && inline.contains("application/x-tex"), "{inline}");
        let block = mathml("\\frac{2mnk}{t} \\le \\min(P, I \\cdot B)\n", true).unwrap();
        assert!(block.contains("display=\"block\"") && block.contains("<mfrac>"), "{block}");
        assert!(!block.contains('\n'));
    }

    #[test]
    fn markdown_leaves_a_formula_alone() {
        let made = format!("Here {} and *there*.", mathml("a_{i*j} * b_k", false).unwrap());
        let events: Vec<_> = pulldown_cmark::Parser::new(&made).collect();
        let emphasis = events
            .iter()
            .filter(|e| matches!(e, pulldown_cmark::Event::Start(pulldown_cmark::Tag::Emphasis)));
        assert_eq!(emphasis.count(), 1, "{events:?}");
    }

    #[test]
    fn a_wrong_formula_is_an_error_that_quotes_it() {
        for wrong in ["\\frac{1}", "\\nosuchthing x", "{"] {
            let error = mathml(wrong, false).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
