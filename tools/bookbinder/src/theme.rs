//! The book's theme: stock mdBook with a few changes to its template, and a style sheet of our own.
//!
//! The changes are made to the template of the mdBook that is linked in, so that there is no copy of it to
//! keep up to date. If mdBook changes what they change, the build says so.

use anyhow::{Context, Result, bail};
use mdbook_driver::config::HtmlConfig;
use std::{fs, path::Path};

/// What is replaced in mdBook's page template, and by what. Each must be there exactly once.
const CHANGES: [(&str, &str); 11] = [
    // Two themes, light and dark, and what the system says.
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
    // A picture of our own in place of mdBook's two.
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
}
