//! What a book has that is published at an address: pages that name it, and a site map.

use crate::html;
use anyhow::{Result, ensure};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    str::FromStr,
};

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

/// An address on the web, without a slash at its end.
fn address(text: &str, what: &str, like: &str) -> Result<String> {
    ensure!(is_address(text), "`{text}` is not the address of a {what}; write it like {like}");
    Ok(text.trim_end_matches('/').to_owned())
}

/// The address of the repository that the course's source is kept in.
///
/// # Errors
/// If it is none: what one is like.
pub fn repository(text: &str) -> Result<String> {
    address(text, "repository", "https://example.org/throughput")
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
    pub(crate) fn map<'p>(&self, pages: impl Iterator<Item = &'p PathBuf>) -> String {
        let mut out = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
        );
        for page in pages {
            let _ = writeln!(out, "<url><loc>{}</loc></url>", html::attribute(&self.of(page)));
        }
        out + "</urlset>\n"
    }
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
        assert_eq!(repository("https://example.org/a/b/").unwrap(), "https://example.org/a/b");
        let error = repository("git@example.org:a/b").unwrap_err().to_string();
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
}
