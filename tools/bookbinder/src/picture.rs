//! Drawings on a page and in a notebook.

use crate::html;
use anyhow::{Result, anyhow};
use base64::{Engine as _, engine::general_purpose::STANDARD};

/// A drawn SVG as a part of a page: named for those who can't see it, its ids unlike any other's.
///
/// # Errors
/// If it is no SVG.
pub fn in_page(svg: &str, alt: &str, prefix: &str) -> Result<String> {
    let start = svg.find("<svg").ok_or_else(|| anyhow!("the figure is not an SVG"))?;
    let svg = with_own_ids(&svg[start + 4..], &html::value_anchor(prefix));
    Ok(format!("<svg role=\"img\" aria-label=\"{}\"{svg}", html::attribute(alt)))
}

/// HTML with this before its ids, and before those that it leads to.
pub fn with_own_ids(html: &str, prefix: &str) -> String {
    let before = [" id=\"", "url(#", "href=\"#"];
    before.iter().fold(html.to_owned(), |html, at| html.replace(at, &format!("{at}{prefix}-")))
}

/// A drawn SVG on its own in a notebook, where the page's colours are not known.
pub fn standalone(svg: &str) -> String {
    let namespace =
        if svg.contains("xmlns=") { "" } else { " xmlns=\"http://www.w3.org/2000/svg\"" };
    svg.replacen("<svg", &format!("<svg{namespace} style=\"background:#fff;color:#111\""), 1)
}

/// An image as an address that contains it, for files that travel alone.
pub fn address(kind: &str, bytes: &[u8]) -> String {
    format!("data:{kind};base64,{}", STANDARD.encode(bytes))
}
