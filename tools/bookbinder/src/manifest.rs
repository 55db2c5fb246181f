//! The contents of a crate's `Cargo.toml`.

use crate::disk;
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

/// The name in a manifest's `[package]`.
pub fn package_name(manifest: &str) -> Option<String> {
    let manifest: Table = manifest.parse().ok()?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// A chapter's crate.
#[derive(Clone, Debug, PartialEq)]
pub struct ChapterCrate {
    /// The name in Rust: `matmul`.
    pub name: String,
    /// The folder below `chapters`: `01-matmul`.
    pub folder: String,
}

/// Every chapter's crate, in the order of their folders.
///
/// # Errors
/// If the folder of the chapters can't be read.
pub fn chapter_crates(root: &Path) -> Result<Vec<ChapterCrate>> {
    let named = |chapter: PathBuf| {
        let name = package_name(&fs::read_to_string(chapter.join("Cargo.toml")).ok()?)?;
        let folder = chapter.file_name()?.to_string_lossy().into_owned();
        Some(ChapterCrate { name: name.replace('-', "_"), folder })
    };
    Ok(disk::entries(&root.join("chapters"))?.into_iter().filter_map(named).collect())
}

/// Cargo's settings for what a notebook loads, from the course's own manifest: every crate at the level that it has there,
/// the chapters, which are dependencies of a notebook, and the cells at the level of the profile itself, so that a cell
/// measures what the command does. `level` replaces the latter.
///
/// # Errors
/// If the manifest is no TOML.
pub fn notebook_profile<'c>(
    manifest: &str,
    level: Option<&str>,
    chapters: impl IntoIterator<Item = &'c str>,
) -> Result<String> {
    let manifest: Table = manifest.parse().context("the course's Cargo.toml is damaged")?;
    let course = manifest.get("profile").and_then(|all| all.get("dev")).and_then(Value::as_table);
    let mut dev = course.cloned().unwrap_or_default();
    let own = match level {
        Some(level) => level.parse().map_or_else(|_| Value::from(level), Value::Integer),
        None => dev.get("opt-level").cloned().unwrap_or(Value::Integer(3)),
    };
    let mut packages = dev.get("package").and_then(Value::as_table).cloned().unwrap_or_default();
    let mut set = |name: &str, key: &str, value: Value| {
        let settings = packages.entry(name).or_insert_with(|| Table::new().into());
        if let Some(settings) = settings.as_table_mut() {
            settings.entry(key).or_insert(value);
        }
    };
    for chapter in chapters {
        set(chapter, "opt-level", own.clone());
    }
    set("*", "codegen-units", Value::Integer(1));
    // A cell is compiled anew with all that the cells before it have defined and with a variable for each of theirs: in four
    // parts that takes two cores two thirds of the time. The parts need thin LTO between them (`false` is that), or nothing is
    // inlined from one into another, and a cell measures other code, up to sixty times as slow.
    dev.insert("codegen-units".to_owned(), Value::Integer(4));
    dev.insert("lto".to_owned(), Value::Boolean(false));
    dev.insert("opt-level".to_owned(), own);
    dev.insert("package".to_owned(), packages.into());
    let profile = Table::from_iter([("dev".to_owned(), Value::from(dev))]);
    Ok(Table::from_iter([("profile".to_owned(), Value::from(profile))]).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_compiles_as_the_course_does() {
        let manifest = "[profile.dev]\nlto = \"off\"\noverflow-checks = false\ncodegen-units = 1\n\
                        [profile.dev.package.\"*\"]\nopt-level = 0\n[profile.dev.package]\n\
                        gemm.opt-level = 3\nmatmul.opt-level = \"s\"\n";
        let read = |manifest: &str, level| {
            let config = notebook_profile(manifest, level, ["lab", "matmul"]).unwrap();
            config.parse::<Table>().unwrap()["profile"]["dev"].clone()
        };
        let dev = read(manifest, None);
        // Cells in parts, with what inlines across them.
        assert_eq!(
            (dev["lto"].as_bool(), dev["codegen-units"].as_integer()),
            (Some(false), Some(4))
        );
        assert_eq!(dev["overflow-checks"].as_bool(), Some(false));
        assert_eq!(dev["package"]["*"]["codegen-units"].as_integer(), Some(1));
        let levels = |dev: &Value| {
            let of = |settings: &Value| settings["opt-level"].to_string();
            let all = &dev["package"];
            [of(dev), of(&all["*"]), of(&all["lab"]), of(&all["matmul"]), of(&all["gemm"])]
                .join(" ")
        };
        assert_eq!(levels(&dev), "3 0 3 \"s\" 3");
        assert_eq!(levels(&read(manifest, Some("1"))), "1 0 1 \"s\" 3");
        assert_eq!(read("", None)["package"]["lab"]["opt-level"].as_integer(), Some(3));
        assert!(notebook_profile("[profile", None, []).is_err());
    }
}
