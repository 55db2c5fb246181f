//! A page's drawings as images: Jupyter takes `<svg>` out of Markdown for fear of scripts in it, and shows an image of
//! the same drawing, which can't run any.

use crate::{markdown::code_ranges, picture};
use anyhow::{Context, Result, bail};

/// The look of a drawing of its own: paper and ink as in print, the series as in the lab's plots.
const LOOK: &str = "<style>:root{background:#fff;color:#111;font-family:system-ui,sans-serif;\
    --series-1:#0072b2;--series-2:#d55e00;--series-3:#009e73;--series-4:#c2569a;\
    --series-5:#b07c00;--series-6:#3b8fc2;--series-7:#8a6fd1;--series-8:#808080}</style>";

/// A page whose drawings are images.
pub(super) fn as_pictures(text: &str) -> Result<String> {
    each(text, drawing)
}

/// A page with what `made` makes of each `<svg>` in its place.
pub(super) fn each(text: &str, made: impl Fn(&str) -> Result<String>) -> Result<String> {
    let code = code_ranges(text);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(start) = text[at..].find("<svg").map(|found| at + found) {
        if let Some(code) = code.iter().find(|code| code.range.contains(&start)) {
            out.push_str(&text[at..code.range.end]);
            at = code.range.end;
            continue;
        }
        let end = text[start..].find("</svg>").context("a drawing has no `</svg>`")? + start + 6;
        out.push_str(&text[at..start]);
        out.push_str(&made(&text[start..end])?);
        at = end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// An attribute of an `<svg>`.
pub(super) fn attribute<'s>(svg: &'s str, name: &str) -> Option<&'s str> {
    let tag = svg.split('>').next()?;
    tag.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

/// An `<svg>` of a page as an `<img>` that contains it.
fn drawing(svg: &str) -> Result<String> {
    let (tag, inside) = svg.split_once('>').context("a drawing has no end of its first tag")?;
    // HTML knows many names of characters, and an SVG file only these.
    for (at, _) in svg.match_indices('&') {
        let name = svg[at + 1..].split(';').next().unwrap_or_default();
        if !name.starts_with('#') && !["amp", "lt", "gt", "quot", "apos"].contains(&name) {
            let name: String = name.chars().take(12).collect();
            bail!(
                "a drawing has `&{name}`, which an SVG file does not know; write the character itself"
            );
        }
    }
    let namespace =
        if tag.contains("xmlns=") { "" } else { " xmlns=\"http://www.w3.org/2000/svg\"" };
    let file = format!("{tag}{namespace}>{LOOK}{inside}");
    let width = attribute(svg, "viewBox").and_then(|view| view.split_whitespace().nth(2));
    let width = width.map_or_else(String::new, |width| format!(" width=\"{width}\""));
    let alt = attribute(svg, "aria-label").unwrap_or_default();
    Ok(format!(
        "<img alt=\"{alt}\"{width} src=\"{}\">",
        picture::address("image/svg+xml", file.as_bytes())
    ))
}
