//! What a book has that is published at an address: pages that name it, a site map, and a feed of changes.

use crate::{disk, html, sources};
use anyhow::{Context, Result, bail, ensure};
use lab::git::git;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    str::FromStr,
};

/// The feed's file in the book.
pub const FEED: &str = "feed.xml";

/// The file of what changed, under the course's folder.
const CHANGES: &str = "CHANGELOG.md";

/// The address that a book is published at; it ends with a slash.
#[derive(Clone, Debug, PartialEq)]
pub struct Site(String);

/// Whether `text` is an address on the web, without a query.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let sound = |c: char| c.is_ascii_alphanumeric() || "-._~:/%@!$()*+,;=[]".contains(c);
    host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') && text.chars().all(sound)
}

/// The address of the repository that the course's source is kept in.
#[derive(Clone, Debug, PartialEq)]
pub struct Repository(String);

impl Repository {
    /// The address, without a slash at its end.
    pub fn address(&self) -> &str {
        &self.0
    }
}

/// An address without a slash at its end.
fn address(text: &str, what: &str, like: &str) -> Result<String> {
    ensure!(is_address(text), "`{text}` is not the address of a {what}; write it like {like}");
    Ok(text.trim_end_matches('/').to_owned())
}

impl FromStr for Repository {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        address(text, "repository", "https://example.org/throughput").map(Self)
    }
}

impl FromStr for Site {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(Self(address(text, "site", "https://example.org/throughput/")? + "/"))
    }
}

impl Site {
    /// Where the site lies on its host, from slash to slash.
    pub fn path(&self) -> &str {
        let host = self.0.find("://").map_or(0, |at| at + 3);
        self.0[host..].find('/').map_or("/", |at| &self.0[host + at..])
    }

    /// The address of a page, given by its file in the book (`a/b.md` or `a/b.html`); an opener is its folder's.
    pub fn of(&self, page: &Path) -> String {
        let page = page.with_extension("html").display().to_string().replace('\\', "/");
        let folder =
            page.strip_suffix("index.html").filter(|up| up.is_empty() || up.ends_with('/'));
        format!("{}{}", self.0, folder.unwrap_or(&page))
    }

    /// The site map (<https://www.sitemaps.org/protocol.html>).
    fn map<'p>(&self, pages: impl Iterator<Item = &'p PathBuf>) -> String {
        let mut out = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
        );
        for page in pages {
            let _ = writeln!(out, "<url><loc>{}</loc></url>", html::attribute(&self.of(page)));
        }
        out + "</urlset>\n"
    }

    /// The newest changes first, as an Atom feed (RFC 4287).
    fn feed(&self, title: &str, changes: &[Change]) -> String {
        let mut changes: Vec<&Change> = changes.iter().collect();
        changes.sort_by(|a, b| b.date.cmp(&a.date));
        let newest = changes.first().map_or("", |change| change.date.as_str());
        let (site, title) = (html::attribute(&self.0), html::attribute(title));
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>{title}: changes</title>\n\
             <id>{site}</id>\n<link href=\"{site}\"/>\n<link rel=\"self\" href=\"{site}{FEED}\"/>\n<updated>{newest}</updated>\n\
             <author><name>{title}</name></author>\n",
        );
        for change in changes {
            let _ = writeln!(
                out,
                "<entry><id>{site}#{}</id><link href=\"{site}\"/><updated>{}</updated><title>{}</title><summary>{}</summary></entry>",
                change.key(),
                change.date,
                html::attribute(change.title()),
                html::attribute(&change.text)
            );
        }
        out + "</feed>\n"
    }

    /// Puts the site map and the feed into the book.
    ///
    /// # Errors
    /// If one can't be written, or git doesn't know when something changed.
    pub(crate) fn put_into<'p>(
        &self,
        book: &Path,
        root: &Path,
        title: &str,
        pages: impl Iterator<Item = &'p PathBuf>,
    ) -> Result<()> {
        let feed = self.feed(title, &changes(root)?);
        for (name, text) in [("sitemap.xml", self.map(pages)), (FEED, feed)] {
            disk::write(&book.join(name), text)?;
        }
        Ok(())
    }
}

/// A point of the list of changes.
#[derive(Debug, PartialEq)]
struct Change {
    /// When its text was last changed, as RFC 3339 writes it.
    date: String,
    /// Its words, without Markdown.
    text: String,
}

impl Change {
    /// Its first words, up to a stop.
    fn title(&self) -> &str {
        self.text.split(['.', ':', ';']).next().unwrap_or(&self.text)
    }

    /// What it is called in addresses.
    fn key(&self) -> String {
        let words: Vec<String> = self
            .title()
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        words.join("-")
    }
}

/// What changed and when, as git knows it.
fn changes(root: &Path) -> Result<Vec<Change>> {
    let asked = ["blame", "-c", "--date=iso-strict-local", "--", CHANGES];
    let said = git(root).args(asked).env("TZ", "UTC").output();
    let said = said.with_context(|| {
        format!("git, which knows when {CHANGES} was written, can't be started; install it, or build without --site")
    })?;
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr);
        bail!(
            "git does not know when {CHANGES} was written, which the feed needs: {}; build in a clone, or without --site",
            why.trim()
        );
    }
    Ok(points(&String::from_utf8_lossy(&said.stdout)))
}

/// The points among lines as `git blame -c` prints them: commit, author, date, and number with the line's text, between tabs.
fn points(blamed: &str) -> Vec<Change> {
    let mut points: Vec<Change> = Vec::new();
    let mut inside = false;
    for line in blamed.lines() {
        let mut parts = line.splitn(4, '\t');
        let (Some(date), Some(rest)) = (parts.nth(2), parts.next()) else { continue };
        let Some((_, text)) = rest.split_once(')') else { continue };
        if let Some(first) = text.strip_prefix("- ") {
            points.push(Change { date: date.trim().to_owned(), text: first.to_owned() });
            inside = true;
        } else if let (true, Some(more), Some(point)) =
            (inside, text.strip_prefix("  "), points.last_mut())
        {
            point.text = format!("{} {more}", point.text);
            point.date = point.date.clone().max(date.trim().to_owned());
        } else {
            inside = false;
        }
    }
    for point in &mut points {
        point.text = sources::plain(&point.text);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_hosts_and_ends_with_a_slash() {
        for (text, path) in [
            ("https://example.org", "/"),
            ("https://example.org/", "/"),
            ("http://example.org/a/b", "/a/b/"),
            ("http://localhost:3000/a//", "/a/"),
        ] {
            assert_eq!(text.parse::<Site>().unwrap().path(), path, "{text}");
        }
        for text in [
            "",
            "example.org",
            "ftp://a.b/",
            "https://",
            "https:///a",
            "https://a.b/?c",
            "https://a.b/\"",
            "https://a b",
        ] {
            let error = text.parse::<Site>().unwrap_err().to_string();
            assert!(error.contains("write it like https://"), "{text}: {error}");
        }
    }

    #[test]
    fn a_repository_has_an_address() {
        let address = |text: &str| text.parse::<Repository>().map(|found| found.0);
        assert_eq!(address("https://example.org/a/b/").unwrap(), "https://example.org/a/b");
        let error = address("git@example.org:a/b").unwrap_err().to_string();
        assert!(error.contains("address of a repository"), "{error}");
    }

    #[test]
    fn the_map_has_every_page_by_its_shortest_address() {
        let site: Site = "https://a.org/b".parse().unwrap();
        let pages = ["index.md", "c/index.md", "c/my-index.md"].map(PathBuf::from);
        let map = site.map(pages.iter());
        let found: Vec<&str> =
            map.split("<loc>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
        assert_eq!(
            found,
            ["https://a.org/b/", "https://a.org/b/c/", "https://a.org/b/c/my-index.html"]
        );
    }

    #[test]
    fn the_feed_has_each_point_with_its_date_the_newest_first() {
        let line = |date: &str, text: &str| format!("ab12\t(Some One\t{date}    \t7){text}\n");
        let blamed = [
            line("2026-01-01T00:00:00Z", "# Changelog"),
            line("2026-01-02T00:00:00Z", "- **Old & good** (`a`): one,"),
            line("2026-01-05T00:00:00Z", "  two."),
            line("2026-01-03T00:00:00Z", ""),
            line("2026-01-03T00:00:00Z", "  none"),
            line("2026-01-09T00:00:00Z", "- New. More."),
        ];
        let found = points(&blamed.concat());
        assert_eq!(found[0].text, "Old & good (a): one, two.");
        assert_eq!(found[0].date, "2026-01-05T00:00:00Z");
        let site: Site = "https://a.org".parse().unwrap();
        let feed = site.feed("B", &found);
        let new = feed.find("<title>New</title><summary>New. More.</summary>").unwrap();
        let old = feed.find("<title>Old &amp; good (a)</title>").unwrap();
        assert!(new < old && feed.contains("<id>https://a.org/#old-good-a</id>"), "{feed}");
        assert!(feed.contains("<updated>2026-01-09T00:00:00Z</updated>\n<author>"), "{feed}");
    }
}
