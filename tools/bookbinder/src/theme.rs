//! The book's theme: stock mdBook with a few changes to its template, and a style sheet of our own.
//!
//! The changes, in `theme.diff`, are made to the template of the mdBook that is linked in, so that there is no copy of it to
//! keep up to date. If mdBook changes what they change, the build reports it.

use crate::{disk, page, picture::address, text, text::replaced};
use anyhow::{Context, Result, bail};
use mdbook_driver::config::HtmlConfig;
use std::{fs, path::Path};

/// Writes mdBook's theme with our changes into `out`, then the files of `ours` (`book/theme`) over it.
///
/// # Errors
/// If a folder can't be written or mdBook's template is not the one that the changes are for.
pub fn write(ours: &Path, out: &Path) -> Result<()> {
    let mut config = HtmlConfig::default();
    config.theme = Some(out.to_owned());
    mdbook_html::theme::Theme::copy_theme(&config, out)
        .context("mdBook's theme can't be written")?;
    let index = out.join("index.hbs");
    let template = text::read(&index)?;
    fs::write(&index, changed(&template)?)?;
    let highlight = out.join("highlight.js");
    let languages = text::read(&highlight)?;
    fs::write(&highlight, fewer_languages(&languages)? + COLOUR_LATER)?;
    // An icon of our own in place of mdBook's two, and fonts of our own in place of all of its.
    fs::remove_file(out.join("favicon.png")).ok();
    let fonts = out.join("fonts");
    fs::remove_dir_all(&fonts).ok();
    disk::copy_files(ours, out, |_| true)?;
    let ours = ours.join("fonts");
    if ours.is_dir() {
        disk::copy_files(&ours, &fonts, |_| true)?;
        for sheet in ["fonts.css", "maths.css"].map(|name| fonts.join(name)) {
            if sheet.is_file() {
                let css = text::read(&sheet)?;
                fs::write(&sheet, with_fonts(&css, &fonts)?)?;
            }
        }
    }
    Ok(())
}

/// The style sheet with its fonts inside; their files go.
fn with_fonts(css: &str, folder: &Path) -> Result<String> {
    replaced(css, "url(\"", "\"", |name| {
        let file = folder.join(name);
        let font = fs::read(&file).with_context(|| format!("can't read {}", file.display()))?;
        fs::remove_file(&file).ok();
        Ok(format!("url(\"{}\"", address("font/woff2", &font)))
    })
}

/// The style sheet with the font of formulas, in the book.
const FORMULAS: &str = "fonts/maths.css";

/// Gives each page of the finished book that has formulas their font's style sheet, if there is one.
///
/// # Errors
/// If a page can't be read or written.
pub fn give_formulas_their_font(book: &Path) -> Result<()> {
    const BEFORE: &str = "<!-- Highlight.js Stylesheets -->";
    if !book.join(FORMULAS).is_file() {
        return Ok(());
    }
    for page in page::built(book)? {
        let html = text::read(&page)?;
        if html.contains("<math") {
            let up = page::up(page.strip_prefix(book).unwrap_or(&page));
            let link =
                format!("<link rel=\"stylesheet\" href=\"{up}{FORMULAS}\">\n        {BEFORE}");
            disk::write(&page, html.replacen(BEFORE, &link, 1))?;
        }
    }
    Ok(())
}

/// The languages that the book's listings are in, by their names in Highlight.js; `c-like` is a part of C and C++, and `shell`
/// is what a console shows.
const LANGUAGES: [&str; 10] =
    ["bash", "c-like", "c", "cpp", "ini", "json", "plaintext", "python", "rust", "shell"];

/// Highlight.js without the other languages, which are three quarters of it. Each is on a line of its own.
fn fewer_languages(script: &str) -> Result<String> {
    const BEGIN: &str = "hljs.registerLanguage(\"";
    let name = |line: &str| line.strip_prefix(BEGIN)?.split('"').next().map(str::to_owned);
    let kept = |line: &&str| name(line).is_none_or(|name| LANGUAGES.contains(&name.as_str()));
    let text: Vec<&str> = script.lines().filter(kept).collect();
    let found = text.iter().filter(|line| name(line).is_some()).count();
    if found != LANGUAGES.len() {
        bail!(
            "mdBook's Highlight.js has changed: {found} of {} languages are on lines of their own; see \
             tools/bookbinder/src/theme.rs",
            LANGUAGES.len()
        );
    }
    Ok(text.join("\n") + "\n")
}

/// mdBook has Highlight.js colour all of a page's code at once, a tenth of a second and more on a phone. A listing is coloured
/// when it is nearly seen; code in a sentence, which has no language, never is, and nothing on paper.
const COLOUR_LATER: &str = r"{
  const colour = hljs.highlightBlock;
  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) { near.unobserve(target); colour(target); }
  }, { rootMargin: '50% 0px' });
  hljs.highlightBlock = (block) => { if (/language-/.test(block.className)) near.observe(block); };
}
";

/// mdBook's page template with our changes.
fn changed(template: &str) -> Result<String> {
    let mut text = template.to_owned();
    let mut lines = include_str!("theme.diff").lines().filter(|line| !line.starts_with('#'));
    while let (Some(old), Some(new)) = (lines.next(), lines.next()) {
        let (old, new) = (old.trim_start_matches("- "), new.trim_start_matches(['+', ' ']));
        if text.matches(old).count() != 1 {
            bail!(
                "mdBook's template has changed: `{old}` is not in it once; see tools/bookbinder/src/theme.diff"
            );
        }
        text = text.replace(old, new);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn mdbooks_template_takes_the_changes() {
        let (ours, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(ours.path().join("head.hbs"), "ours").unwrap();
        write(ours.path(), out.path()).unwrap();
        let page = fs::read_to_string(out.path().join("index.hbs")).unwrap();
        assert!(page.contains(">Dark</button>") && !page.contains("theme-ayu"));
        assert_eq!(fs::read_to_string(out.path().join("head.hbs")).unwrap(), "ours");
        assert!(!out.path().join("favicon.png").exists());
        let script = fs::read_to_string(out.path().join("highlight.js")).unwrap();
        assert!(script.contains("registerLanguage(\"rust\"") && !script.contains("\"swift\""));
        assert!(script.len() < 40_000, "{}", script.len());
    }

    #[test]
    fn our_fonts_are_the_only_ones() {
        let (ours, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let css = "@font-face { src: url(\"text.woff2\") format(\"woff2\"); }";
        for (name, text) in [("fonts.css", css), ("text.woff2", "abc"), ("fonts.txt", "how")] {
            lab::testing::put(&ours.path().join("fonts"), name, text);
        }
        write(ours.path(), out.path()).unwrap();
        let fonts = out.path().join("fonts");
        assert_eq!(lab::testing::names(&fonts), ["fonts.css", "fonts.txt"]);
        let css = fs::read_to_string(fonts.join("fonts.css")).unwrap();
        assert!(css.contains("url(\"data:font/woff2;base64,YWJj\") format"), "{css}");
        let broken = with_fonts("src: url(\"gone.woff2\")", &fonts).unwrap_err().to_string();
        assert!(broken.contains("gone.woff2"), "{broken}");
    }

    #[test]
    fn another_template_is_refused() {
        assert!(changed("<html></html>").unwrap_err().to_string().contains("template has changed"));
        assert!(fewer_languages("var hljs;").unwrap_err().to_string().contains("0 of 10"));
    }

    /// The variables that the first rule with this head sets.
    fn colours<'c>(css: &'c str, head: &str) -> BTreeMap<&'c str, &'c str> {
        let body = css.split(head).nth(1).unwrap().split('}').next().unwrap();
        let set = body.split(';').filter_map(|line| line.trim().split_once(": "));
        set.filter(|(name, _)| name.starts_with("--")).collect()
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let parts: Vec<f64> = (1..7)
            .step_by(2)
            .map(|at| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0)
            .map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) })
            .collect();
        0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }

    #[test]
    fn series_can_be_read_as_text_in_both_themes() {
        let css = include_str!("../../../book/theme/throughput.css");
        let [light, dark, paper] =
            [".light,\nhtml:not(.js) {", ".navy {", "html.navy {"].map(|head| colours(css, head));
        for theme in [&light, &dark, &paper] {
            let page = if theme["--bg"] == "#fff" { "#ffffff" } else { theme["--bg"] };
            for name in (1..=8).map(|n| format!("--series-{n}")) {
                let (a, b) = (luminance(theme[&*name]), luminance(page));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 4.5, "{name} has a contrast of {contrast} on {page}");
                assert_eq!(light[&*name], paper[&*name], "paper takes the light theme's colours");
            }
        }
        // Without JavaScript the dark page has the dark theme's colours.
        let script = css.split("@media (prefers-color-scheme: dark)").nth(1).unwrap();
        for (name, value) in colours(script, "html:not(.js) {") {
            assert_eq!(value, dark[name], "{name}");
        }
    }
}
