//! The book's theme: stock mdBook with a few changes to its template, and a style sheet of our own.
//!
//! The changes are made to the template of the mdBook that is linked in, so that there is no copy of it to
//! keep up to date. If mdBook changes what they change, the build reports it.

use anyhow::{Context, Result, bail};
use mdbook_driver::config::HtmlConfig;
use std::{fs, path::Path};

/// What is replaced in mdBook's page template, and by what. Each must be there exactly once.
const CHANGES: [(&str, &str); 11] = [
    // Two themes, light and dark, and the system's choice.
    (
        r#"<li role="none"><button role="menuitem" class="theme" id="mdbook-theme-rust">Rust</button></li>"#,
        "",
    ),
    (
        r#"<li role="none"><button role="menuitem" class="theme" id="mdbook-theme-coal">Coal</button></li>"#,
        "",
    ),
    (
        r#"<li role="none"><button role="menuitem" class="theme" id="mdbook-theme-ayu">Ayu</button></li>"#,
        "",
    ),
    (r#"id="mdbook-theme-navy">Navy</button>"#, r#"id="mdbook-theme-navy">Dark</button>"#),
    // A label may carry no aria-expanded and is not reached by keyboard; our script works the button.
    (
        r#"<label id="mdbook-sidebar-toggle" class="icon-button" for="mdbook-sidebar-toggle-anchor""#,
        r#"<button id="mdbook-sidebar-toggle" type="button" class="icon-button""#,
    ),
    ("</label>", "</button>"),
    (r#"<div id="mdbook-menu-bar" class"#, r#"<div id="mdbook-menu-bar" role="banner" class"#),
    // A page has one first-level heading: its own.
    (
        r#"<h1 class="menu-title">{{ book_title }}</h1>"#,
        r#"<p class="menu-title">{{ book_title }}</p>"#,
    ),
    // The field is named by a label, and described by an element that exists.
    (
        r#"aria-describedby="searchresults-header""#,
        r#"aria-label="Search this book" aria-describedby="mdbook-searchresults-header""#,
    ),
    // Only the shortcuts' window, which is a dialog.
    (
        r#"<div id="mdbook-help-popup">"#,
        r#"<div id="mdbook-help-popup" role="dialog" aria-label="Keyboard shortcuts">"#,
    ),
    // Readers of the keyboard reach the text without the table of contents.
    (
        r#"<div id="mdbook-body-container">"#,
        r##"<div id="mdbook-body-container"><a class="skip" href="#mdbook-content">Skip to the text</a>"##,
    ),
];

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
    let template =
        fs::read_to_string(&index).with_context(|| format!("can't read {}", index.display()))?;
    fs::write(&index, changed(&template)?)?;
    // An icon of our own in place of mdBook's two.
    fs::remove_file(out.join("favicon.png")).ok();
    for entry in fs::read_dir(ours).with_context(|| format!("can't read {}", ours.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), out.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn changed(template: &str) -> Result<String> {
    let mut text = template.to_owned();
    for (old, new) in CHANGES {
        if text.matches(old).count() != 1 {
            bail!(
                "mdBook's template has changed: `{old}` is not in it once; see tools/bookbinder/src/theme.rs"
            );
        }
        text = text.replace(old, new);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mdbooks_template_takes_the_changes() {
        let (ours, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(ours.path().join("head.hbs"), "ours").unwrap();
        write(ours.path(), out.path()).unwrap();
        let page = fs::read_to_string(out.path().join("index.hbs")).unwrap();
        assert!(page.contains(">Dark</button>") && !page.contains("theme-ayu"));
        assert_eq!(fs::read_to_string(out.path().join("head.hbs")).unwrap(), "ours");
        assert!(!out.path().join("favicon.png").exists());
    }

    #[test]
    fn another_template_is_refused() {
        assert!(changed("<html></html>").unwrap_err().to_string().contains("template has changed"));
    }

    /// `name: value` of the rules that start with `selector`, in their order in the style sheet.
    fn colours(css: &str, selector: &str) -> Vec<Vec<(String, String)>> {
        css.match_indices(selector)
            .map(|(at, _)| {
                let body = css[at..].split('{').nth(1).unwrap().split('}').next().unwrap();
                body.split(';')
                    .filter_map(|line| line.trim().split_once(": "))
                    .filter(|(name, _)| name.starts_with("--"))
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect()
            })
            .collect()
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
        let light = &colours(css, ".light,\nhtml:not(.js) {")[0];
        let dark = &colours(css, ".navy {")[0];
        let paper = &colours(css, "html.navy {")[0];
        let get = |all: &[(String, String)], name: &str| {
            all.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap()
        };
        for theme in [light, dark, paper] {
            let page = get(theme, "--bg");
            let page = if page == "#fff" { "#ffffff".to_owned() } else { page };
            for name in (1..=8).map(|n| format!("--series-{n}")) {
                let (a, b) = (luminance(&get(theme, &name)), luminance(&page));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 4.5, "{name} has a contrast of {contrast} on {page}");
                assert_eq!(
                    get(light, &name),
                    get(paper, &name),
                    "paper takes the light theme's colours"
                );
            }
        }
        // Without JavaScript the dark page has the dark theme's colours.
        let script = css.split("@media (prefers-color-scheme: dark)").nth(1).unwrap();
        for (name, value) in &colours(script, "html:not(.js) {")[0] {
            assert_eq!(value, &get(dark, name), "{name}");
        }
    }
}
