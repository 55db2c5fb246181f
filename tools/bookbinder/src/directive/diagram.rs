//! Diagrams that are drawn by hand: `{{#diagram FILE.svg Caption}}`, with the file next to the page.
//!
//! The drawing becomes a part of the page, so that it takes the page's colours: `currentColor` for ink,
//! `var(--series-1)` to `var(--series-8)` for the rest. Its `<desc>` is what a reader hears who can't see
//! it. `{{#measure KEY p=v …}}` in a `<text>` is the number of each machine, and nothing where there is
//! none. A drawing that has `data-narrow` on its `<svg>` is one for a phone's width; others scroll there. In
//! a notebook the same drawing is an image.

use crate::{html, page::Flavour, picture::in_page, quote::Quotes, text, text::replaced};
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;

/// What a drawing must not have, and why.
const REFUSED: [(&str, &str); 5] = [
    ("<script", "a diagram runs nothing"),
    ("<style", "its rules would apply to the whole page"),
    ("<image", "a diagram is drawn"),
    ("href=\"http", "a page fetches nothing from outside"),
    ("&nbsp;", "write the character itself"),
];

/// The diagram named by `argument` (`FILE.svg Caption`) in `folder`, as HTML or for a notebook.
///
/// # Errors
/// If the file or the caption is missing, the drawing has no `viewBox` or no `<desc>`, or something that
/// a page can't contain; or if a number in it does not exist.
pub fn markdown(quotes: Quotes, folder: &Path, argument: &str, flavour: Flavour) -> Result<String> {
    let (name, caption) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    let (name, caption) = (name.trim(), caption.trim());
    let stem = name.strip_suffix(".svg").ok_or_else(|| {
        anyhow!("a diagram names an SVG file and has a caption: {{{{#diagram tiles.svg A tile.}}}}")
    })?;
    if caption.is_empty() {
        bail!("the diagram `{name}` has no caption");
    }
    let file = folder.join(name);
    let source = text::read(&file)?;
    let (svg, alt) = drawing(&source, |spec| quotes.measure_in_drawing(spec, flavour))
        .with_context(|| format!("the diagram `{name}`"))?;
    let svg = html::one_line(&in_page(&svg, &alt, &format!("diagram-{stem}"))?);
    Ok(match flavour {
        Flavour::Html => format!(
            "<figure class=\"diagram\" id=\"diagram-{}\"><div class=\"plot\">{svg}</div><figcaption>{}\
             </figcaption></figure>",
            html::value_anchor(stem),
            html::text(caption)
        ),
        Flavour::Notebook => format!("{svg}\n\n*{caption}*"),
    })
}

/// The `<svg>` of a file without its remarks and its description, with its numbers; and the description.
fn drawing(source: &str, measure: impl Fn(&str) -> Result<String>) -> Result<(String, String)> {
    let mut text = cut_out(source, "<!--", "-->")?.0;
    let (start, end) =
        text.find("<svg").zip(text.rfind("</svg>")).ok_or_else(|| anyhow!("is not an SVG"))?;
    text = text[start..end + 6].to_owned();
    for (what, why) in REFUSED {
        if text.contains(what) {
            bail!("has `{what}`: {why}");
        }
    }
    let tag = text.split('>').next().unwrap_or("");
    if !tag.contains(" viewBox=\"") {
        bail!("has no viewBox, by which a page knows its shape");
    }
    let (text, alt) = cut_out(&text, "<desc>", "</desc>")?;
    let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
    if alt.is_empty() {
        bail!("has no `<desc>` for readers who can't see it");
    }
    let text = replaced(&text, "{{#measure ", "}}", |spec| measure(spec.trim()))?;
    Ok((text, unescaped(&alt)))
}

/// `text` without every part from `open` to `close`, and the contents of the parts.
fn cut_out(text: &str, open: &str, close: &str) -> Result<(String, String)> {
    let mut held = String::new();
    let out = replaced(text, open, close, |inside| {
        held.push_str(inside);
        Ok(String::new())
    });
    Ok((out?, held))
}

/// The five characters that XML writes as names.
pub(crate) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "<?xml version=\"1.0\"?>\n<!-- <svg> drawn by hand -->\n<svg viewBox=\"0 0 9 9\">\n\
                        <desc>Two\n  chips &amp; one bus.</desc>\n<text>{{#measure a.b n=1}}</text>\n</svg>\n";

    #[test]
    fn a_drawing_is_its_svg_with_numbers_and_a_description() {
        let (svg, alt) = drawing(GOOD, |spec| Ok(format!("[{spec}]"))).unwrap();
        assert_eq!(alt, "Two chips & one bus.");
        assert_eq!(svg, "<svg viewBox=\"0 0 9 9\">\n\n<text>[a.b n=1]</text>\n</svg>");
    }

    #[test]
    fn what_a_page_cant_hold_is_refused() {
        for (from, to, says) in [
            ("viewBox", "view", "no viewBox"),
            ("<desc>Two\n  chips &amp; one bus.</desc>", "", "no `<desc>`"),
            ("</desc>", "", "without `</desc>`"),
            ("<text>", "<script>x()</script><text>", "runs nothing"),
            ("<text>", "<style>a{}</style><text>", "whole page"),
            ("<text>", "<a href=\"https://example.org\"/><text>", "outside"),
            ("n=1}}", "n=1", "without `}}`"),
            ("</svg>", "", "not an SVG"),
        ] {
            let error = drawing(&GOOD.replace(from, to), |_| Ok(String::new())).unwrap_err();
            assert!(error.to_string().contains(says), "{to}: {error}");
        }
        let error = drawing(GOOD, |_| bail!("no such value")).unwrap_err();
        assert_eq!(error.to_string(), "no such value");
    }
}
