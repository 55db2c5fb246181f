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
    fn a_wrong_formula_is_an_error_that_quotes_it() {
        for wrong in ["\\frac{1}", "\\nosuchthing x", "{"] {
            let error = mathml(wrong, false).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
