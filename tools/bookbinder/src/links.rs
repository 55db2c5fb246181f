//! A check of the finished book: every link leads somewhere, every fragment too, and nothing is fetched
//! from outside.

use crate::{disk, docs, html::decoded, page::tidy, text};
use anyhow::Result;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
    states::RawKind,
};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Addresses in scripts that are never asked for, and why.
const NEVER_FETCHED: [(&str, &str); 1] =
    [("https://play.rust-lang.org", "mdBook's run button, which `runnable = false` leaves out")];

/// The elements whose addresses the browser fetches by itself.
const FETCHING: [&str; 13] = [
    "link", "script", "img", "iframe", "source", "video", "audio", "image", "use", "embed",
    "object", "track", "input",
];

/// What a page offers and what it asks for.
#[derive(Default)]
struct Page {
    ids: BTreeSet<String>,
    twice: Vec<String>,
    /// `base` set to the root.
    from_root: bool,
    /// Links, and whether the browser fetches them by itself.
    links: Vec<(String, bool)>,
    /// Its style sheet, or a page's style elements and attributes.
    style: String,
}

impl Page {
    /// With the addresses in its style, which the browser fetches, or finds on the page.
    fn styled(mut self) -> Self {
        for (at, mark) in self.style.match_indices("url(") {
            let link = self.style[at + mark.len()..].split(')').next().unwrap_or("");
            self.links.push((link.trim().trim_matches(['"', '\'']).to_owned(), true));
        }
        self
    }
}

/// Everything that is wrong with the book in `folder`, one line each; empty if all is well. Links to
/// other sites are checked for their form alone.
///
/// # Errors
/// If the folder can't be read.
pub fn check(folder: &Path) -> Result<Vec<String>> {
    let mut files = disk::files(folder)?;
    // Rustdoc checks its own pages; that ours lead into them is checked here.
    files.retain(|file| !file.starts_with(folder.join(docs::FOLDER)));
    let mut pages = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.strip_prefix(folder).unwrap_or(file).to_owned();
        let text = || text::read(file);
        match file.extension().and_then(|ext| ext.to_str()) {
            Some("html") => {
                pages.insert(name, page(&text()?));
            }
            Some("css") => {
                pages.insert(name, Page { style: text()?, ..Page::default() }.styled());
            }
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
        if page.style.contains("@import") {
            wrong.push(format!("{}: `@import` fetches another style sheet", name.display()));
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
    let Some(path) = decoded(path.split('?').next().unwrap_or("")) else {
        return Some("is not an address".to_owned());
    };
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
    let id = decoded(fragment)?;
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
    let below = path.trim_start_matches('/');
    let base = if below == path { base } else { Path::new("") };
    let out = tidy(&base.join(below));
    (!out.starts_with("..")).then_some(out)
}

/// Addresses as string literals, which a script could fetch. Names of XML vocabularies are no addresses, and a link in the
/// HTML that a script holds waits for a click.
fn in_script(name: &Path, script: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for start in ["\"http://", "\"https://", "'http://", "'https://", "`http://", "`https://"] {
        for (at, _) in script.match_indices(start) {
            let rest = &script[at + 1..];
            let link = rest.split(&start[..1]).next().unwrap_or("");
            let known = link.starts_with("http://www.w3.org/")
                || script[..at].ends_with("href=\\")
                || NEVER_FETCHED.iter().any(|(address, _)| link.starts_with(address));
            if !known {
                wrong.push(format!("{}: the script names `{link}`", name.display()));
            }
        }
    }
    wrong
}

/// What a page offers and asks for. The tokens of HTML are those that mdBook reads.
fn page(html: &str) -> Page {
    let tokens = Tokenizer::new(Reader::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(html.into());
    let _ = tokens.feed(&input);
    tokens.end();
    tokens.sink.page.into_inner().styled()
}

/// Reads a page token by token.
#[derive(Default)]
struct Reader {
    page: RefCell<Page>,
    in_style: Cell<bool>,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut page = self.page.borrow_mut();
        match token {
            Token::TagToken(tag) => {
                let start = tag.kind == TagKind::StartTag;
                self.in_style.set(start && &*tag.name == "style");
                if start {
                    page.tag(&tag);
                }
                // Their content is text until their end.
                match &*tag.name {
                    "script" if start => return TokenSinkResult::RawData(RawKind::ScriptData),
                    "style" if start => return TokenSinkResult::RawData(RawKind::Rawtext),
                    _ => {}
                }
            }
            Token::CharacterTokens(text) if self.in_style.get() => {
                page.style.push_str(&text);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Page {
    /// Takes a tag's ids, links and styles.
    fn tag(&mut self, tag: &Tag) {
        let fetching = FETCHING.contains(&&*tag.name);
        for attribute in &tag.attrs {
            let value = attribute.value.to_string();
            match &*attribute.name.local {
                "id" if !self.ids.insert(value.clone()) => self.twice.push(value),
                "href" if &*tag.name == "base" => {
                    self.from_root = value.starts_with('/') && value.ends_with('/');
                }
                "href" | "src" | "xlink:href" | "poster" => self.links.push((value, fetching)),
                "data" if &*tag.name == "object" => self.links.push((value, true)),
                "srcset" => {
                    for part in value.split(',') {
                        let link = part.split_whitespace().next().unwrap_or("");
                        self.links.push((link.to_owned(), true));
                    }
                }
                // A style, or what an SVG is filled or cut with.
                _ if value.contains("url(") => self.style.push_str(&(value + "\n")),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            lab::testing::put(folder.path(), name, text);
        }
        check(folder.path()).unwrap()
    }

    #[test]
    fn good_links_pass() {
        let index = "<!-- <a href=gone.html> --><h1 id='top-of'>x</h1><a href=\"a/b.html#two\">b</a>\
                     <a href='#top-of'>up</a><a href=a/>folder</a><a href=\"https://example.org/x?y=1\">out</a>\
                     <script>if (a<b) { x = '<a href=\"gone.html\">' }</script><img src=\"data:image/png;base64,AA\">\
                     <style>p { background: url(a/p.png) }</style><svg><rect fill='url(#top-of)'/></svg>";
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
            ("b/404.html", "<base href=\"/at/\"><a href=\"a/b.html\">b</a>"),
            (
                "x.js",
                "const ns = 'http://www.w3.org/2000/svg', html = \"<a href=\\\"https://a.org\\\">a</a>\";",
            ),
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
            ("<svg><rect fill='url(#gone)'/></svg>", "does not have"),
        ] {
            let found = problems(&[("index.html", html)]);
            assert!(found.len() == 1 && found[0].contains(says), "{html}: {found:?}");
        }
        let found =
            problems(&[("a.css", "@import 'b.css';"), ("b.js", "fetch(\"https://example.org\")")]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
