//! A check of the finished book: every link leads somewhere, every fragment too, and nothing is fetched
//! from outside.

use crate::docs;
use anyhow::{Context, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

/// Addresses in scripts that are never asked for, and why.
const NEVER_FETCHED: [(&str, &str); 1] =
    [("https://play.rust-lang.org", "mdBook's run button, which `runnable = false` leaves out")];

/// A tag of a page with its attributes.
#[derive(Debug, PartialEq, Eq)]
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

/// What a page offers and what it asks for.
#[derive(Default)]
struct Page {
    ids: BTreeSet<String>,
    twice: Vec<String>,
    /// `base` set to the root.
    from_root: bool,
    /// Links, and whether the browser fetches them by itself.
    links: Vec<(String, bool)>,
    styles: Vec<String>,
}

/// Everything that is wrong with the book in `folder`, one line each; empty if all is well. Links to
/// other sites are checked for their form alone.
///
/// # Errors
/// If the folder can't be read.
pub fn check(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    walk(folder, &mut files)?;
    // Rustdoc checks its own pages; that ours lead into them is checked here.
    files.retain(|file| !file.starts_with(folder.join(docs::FOLDER)));
    let mut pages = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.strip_prefix(folder).unwrap_or(file).to_owned();
        let text =
            || fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()));
        match file.extension().and_then(|ext| ext.to_str()) {
            Some("html") => {
                pages.insert(name, page(&text()?));
            }
            Some("css") => wrong.extend(in_style(&name, &text()?, folder)),
            Some("js") => wrong.extend(in_script(&name, &text()?)),
            _ => {}
        }
    }
    for (name, page) in &pages {
        wrong.extend(
            page.twice
                .iter()
                .map(|id| format!("{}: two elements have the id `{id}`", name.display())),
        );
        for style in &page.styles {
            wrong.extend(in_style(name, style, folder));
        }
        for (link, fetched) in &page.links {
            if let Some(why) = broken(folder, &pages, name, page, link, *fetched) {
                wrong.push(format!("{}: `{link}` {why}", name.display()));
            }
        }
    }
    Ok(wrong)
}

/// Why a link is wrong, if it is.
fn broken(
    folder: &Path,
    pages: &BTreeMap<PathBuf, Page>,
    name: &Path,
    page: &Page,
    link: &str,
    fetched: bool,
) -> Option<String> {
    if link.starts_with("data:") {
        return None;
    }
    if link.starts_with("//") {
        return Some("names no protocol".to_owned());
    }
    if let Some((scheme, rest)) = link.split_once(':')
        && scheme.chars().all(|c| c.is_ascii_alphanumeric())
    {
        return match scheme {
            "http" | "https" if fetched => Some("is fetched from outside".to_owned()),
            "http" | "https" => (!is_address(rest)).then(|| "is not an address".to_owned()),
            "mailto" => (!rest.contains('@')).then(|| "is not a mail address".to_owned()),
            _ => Some("is of a kind that a page does not use".to_owned()),
        };
    }
    let (path, fragment) = match link.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (link, None),
    };
    let path = decoded(path.split('?').next().unwrap_or(""));
    let target = if path.is_empty() && !page.from_root {
        name.to_owned()
    } else {
        let base =
            if page.from_root { Path::new("") } else { name.parent().unwrap_or(Path::new("")) };
        let Some(mut target) = resolved(base, &path) else {
            return Some("leads out of the book".to_owned());
        };
        if target.as_os_str().is_empty() || path.ends_with('/') || folder.join(&target).is_dir() {
            target.push("index.html");
        }
        target
    };
    if !folder.join(&target).is_file() {
        return Some("leads nowhere".to_owned());
    }
    let fragment = fragment.filter(|fragment| !fragment.is_empty() && *fragment != "top")?;
    let id = decoded(fragment);
    match pages.get(&target) {
        Some(page) if page.ids.contains(&id) => None,
        Some(_) => Some(format!("names a place that {} does not have", target.display())),
        None => None,
    }
}

/// `//host/…` with a host and no space.
fn is_address(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix("//") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    host.contains('.')
        && !rest.contains(char::is_whitespace)
        && !host.starts_with('.')
        && !host.ends_with('.')
}

/// `path` from `base`, or `None` if it leaves the folder.
fn resolved(base: &Path, path: &str) -> Option<PathBuf> {
    let joined = match path.strip_prefix('/') {
        Some(path) => PathBuf::from(path),
        None => base.join(path),
    };
    let mut out = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir if !out.pop() => return None,
            _ => {}
        }
    }
    Some(out)
}

/// `%41` becomes `A` (RFC 3986, section 2.1).
fn decoded(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn in_style(name: &Path, css: &str, folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, _) in css.match_indices("url(") {
        let link = css[at + 4..].split(')').next().unwrap_or("").trim().trim_matches(['"', '\'']);
        if link.starts_with("data:") || link.starts_with('#') {
            continue;
        }
        let inside = !link.contains(':') && !link.starts_with("//");
        let base = name.parent().unwrap_or(Path::new(""));
        let file = resolved(base, &decoded(link.split(['?', '#']).next().unwrap_or("")));
        if !inside {
            wrong.push(format!("{}: `{link}` is fetched from outside", name.display()));
        } else if !file.is_some_and(|file| folder.join(file).is_file()) {
            wrong.push(format!("{}: `{link}` leads nowhere", name.display()));
        }
    }
    if css.contains("@import") {
        wrong.push(format!("{}: `@import` fetches another style sheet", name.display()));
    }
    wrong
}

/// Addresses as string literals, which a script could fetch. Names of XML vocabularies are no addresses.
fn in_script(name: &Path, script: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for start in ["\"http://", "\"https://", "'http://", "'https://", "`http://", "`https://"] {
        for (at, _) in script.match_indices(start) {
            let rest = &script[at + 1..];
            let link = rest.split(&start[..1]).next().unwrap_or("");
            let known = link.starts_with("http://www.w3.org/")
                || NEVER_FETCHED.iter().any(|(address, _)| link.starts_with(address));
            if !known {
                wrong.push(format!("{}: the script names `{link}`", name.display()));
            }
        }
    }
    wrong
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn page(html: &str) -> Page {
    let mut page = Page::default();
    for tag in tags(html, &mut page.styles) {
        let fetching = matches!(
            tag.name.as_str(),
            "link"
                | "script"
                | "img"
                | "iframe"
                | "source"
                | "video"
                | "audio"
                | "image"
                | "use"
                | "embed"
                | "object"
                | "track"
                | "input"
        );
        for (attribute, value) in &tag.attributes {
            match attribute.as_str() {
                "id" if !page.ids.insert(value.clone()) => page.twice.push(value.clone()),
                "href" if tag.name == "base" => page.from_root = value == "/",
                "href" | "src" | "xlink:href" | "poster" => {
                    page.links.push((value.clone(), fetching));
                }
                "data" if tag.name == "object" => page.links.push((value.clone(), true)),
                "srcset" => {
                    for part in value.split(',') {
                        let link = part.split_whitespace().next().unwrap_or("");
                        page.links.push((link.to_owned(), true));
                    }
                }
                "style" if value.contains("url(") => page.styles.push(value.clone()),
                _ => {}
            }
        }
    }
    page
}

/// The start tags of a page. Comments and the contents of scripts are left out; those of styles go to
/// `styles`.
fn tags(html: &str, styles: &mut Vec<String>) -> Vec<Tag> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(found) = html[at..].find('<') {
        at += found + 1;
        let rest = &html[at..];
        if let Some(comment) = rest.strip_prefix("!--") {
            at += 3 + comment.find("-->").map_or(comment.len(), |end| end + 3);
            continue;
        }
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let (tag, length) = tag(rest);
        at += length;
        if matches!(tag.name.as_str(), "script" | "style") {
            let end = html[at..].find(&format!("</{}", tag.name)).unwrap_or(html.len() - at);
            if tag.name == "style" {
                styles.push(html[at..at + end].to_owned());
            }
            at += end;
        }
        all.push(tag);
    }
    all
}

/// The tag at the start of `text` (after `<`), and how long it is.
fn tag(text: &str) -> (Tag, usize) {
    let name_end =
        text.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(text.len());
    let mut tag = Tag { name: text[..name_end].to_ascii_lowercase(), attributes: Vec::new() };
    let mut at = name_end;
    loop {
        let rest = &text[at..];
        let skipped =
            rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/').len();
        at += skipped;
        let rest = &text[at..];
        if rest.is_empty() {
            return (tag, at);
        }
        if rest.starts_with('>') {
            return (tag, at + 1);
        }
        let end = rest
            .char_indices()
            .skip(1)
            .find(|&(_, c)| c.is_whitespace() || matches!(c, '=' | '>' | '/'))
            .map_or(rest.len(), |(end, _)| end);
        let attribute = rest[..end].to_ascii_lowercase();
        at += end;
        let after = text[at..].trim_start();
        let Some(value) = after.strip_prefix('=') else {
            tag.attributes.push((attribute, String::new()));
            continue;
        };
        let value = value.trim_start();
        at = text.len() - value.len();
        let (start, length) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                (1, value[1..].find(quote).map_or(value.len().saturating_sub(1), |end| end))
            }
            _ => (0, value.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(value.len())),
        };
        tag.attributes.push((attribute, entities(&value[start..start + length])));
        at += (2 * start + length).min(value.len());
    }
}

/// The entities that a link can hold.
fn entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        check(folder.path()).unwrap()
    }

    #[test]
    fn good_links_pass() {
        let index = "<!-- <a href=gone.html> --><h1 id='top-of'>x</h1><a href=\"a/b.html#two\">b</a>\
                     <a href='#top-of'>up</a><a href=a/>folder</a><a href=\"https://example.org/x?y=1\">out</a>\
                     <script>if (a<b) { x = '<a href=\"gone.html\">' }</script><img src=\"data:image/png;base64,AA\">\
                     <style>p { background: url(a/p.png) }</style>";
        let files = [
            ("index.html", index),
            (
                "a/b.html",
                "<p id=two><a href=../index.html#top-of>back</a><a href='b.html?q#t%77o'>self</a>",
            ),
            ("a/index.html", "<link rel=stylesheet href=s.css>"),
            ("a/s.css", "p { background: url('p.png') }"),
            ("a/p.png", ""),
            ("404.html", "<base href=\"/\"><a href=\"a/b.html\">b</a>"),
            ("x.js", "const ns = 'http://www.w3.org/2000/svg';"),
        ];
        assert_eq!(problems(&files), Vec::<String>::new());
    }

    #[test]
    fn each_fault_is_named() {
        for (html, says) in [
            ("<a href=gone.html>x</a>", "leads nowhere"),
            ("<a href=#gone>x</a>", "does not have"),
            ("<a href=../up.html>x</a>", "out of the book"),
            ("<a href=//example.org>x</a>", "no protocol"),
            ("<a href='https://no host/'>x</a>", "not an address"),
            ("<a href='https:example'>x</a>", "not an address"),
            ("<a href='javascript:x'>x</a>", "of a kind"),
            ("<img src='https://example.org/x.png'>", "from outside"),
            ("<script src='https://example.org/x.js'></script>", "from outside"),
            ("<i id=a></i><b id=a></b>", "two elements"),
            ("<style>a { background: url(https://example.org/x.png) }</style>", "from outside"),
            ("<p style=\"background: url(gone.png)\">", "leads nowhere"),
        ] {
            let found = problems(&[("index.html", html)]);
            assert!(found.len() == 1 && found[0].contains(says), "{html}: {found:?}");
        }
        let found =
            problems(&[("a.css", "@import 'b.css';"), ("b.js", "fetch(\"https://example.org\")")]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
