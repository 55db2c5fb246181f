//! The contents of a crate's `Cargo.toml`.

use crate::disk;
use anyhow::{Context, Result};
use std::{
    fmt::Write as _,
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

/// Cargo's settings for what a notebook loads, from the course's own manifest: every crate at the level that the release
/// profile gives it, and the chapters, which are dependencies there, and the cells at the level of that profile
/// itself: what a reader measures in a cell is a release build. `level` replaces the latter, as Cargo's variable
/// `CARGO_PROFILE_RELEASE_OPT_LEVEL` does.
///
/// # Errors
/// If the manifest is no TOML.
pub fn notebook_profile<'c>(
    manifest: &str,
    level: Option<&str>,
    chapters: impl IntoIterator<Item = &'c str>,
) -> Result<String> {
    let manifest: Table = manifest.parse().context("the course's Cargo.toml is damaged")?;
    let release = manifest.get("profile").and_then(|all| all.get("release"));
    let level_of = |of: Option<&Value>| of?.get("opt-level").map(Value::to_string);
    let given = level.map(|level| match level.parse() {
        Ok(number) => Value::Integer(number).to_string(),
        Err(_) => Value::from(level).to_string(),
    });
    let own = given.or_else(|| level_of(release)).unwrap_or_else(|| "3".to_owned());
    let packages = release.and_then(|all| all.get("package")).and_then(Value::as_table);
    let named = |name: &str| packages?.get(name);
    let parts = |of: Option<&Value>| {
        let parts = of.and_then(|all| all.get("codegen-units")).and_then(Value::as_integer);
        format!("codegen-units = {}\n", parts.unwrap_or(16)) // as many as a release build has
    };
    let unchecked = "debug-assertions = false\noverflow-checks = false\n";
    // A cell is compiled anew with all that the cells before it have defined and with a variable for each of theirs: in four
    // parts that takes two cores two thirds of the time. The parts need thin LTO between them (`false` is that), or nothing is
    // inlined from one into another, and a cell measures other code, up to sixty times as slow.
    let mut out = format!(
        "[profile.dev]\nopt-level = {own}\nlto = false\ncodegen-units = 4\nincremental = false\n{unchecked}"
    );
    let mut package = |name: &str, level: Option<String>, settings: &str| {
        let _ = write!(out, "\n[profile.dev.package.\"{name}\"]\n");
        let _ = write!(out, "opt-level = {}\n{settings}", level.as_ref().unwrap_or(&own));
    };
    let all = named("*");
    // In one part: thin LTO between sixteen would cost more than it gives.
    package("*", level_of(all), &format!("codegen-units = 1\n{unchecked}"));
    let chapters: Vec<&str> = chapters.into_iter().collect();
    for chapter in &chapters {
        package(chapter, level_of(named(chapter)), &parts(named(chapter)));
    }
    for (name, settings) in packages.into_iter().flatten() {
        let level = level_of(Some(settings));
        if name != "*" && level.is_some() && !chapters.contains(&name.as_str()) {
            package(name, level, "");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_compiles_as_the_release_profile_says() {
        let manifest = "[profile.release]\nlto = \"off\"\n[profile.release.package.\"*\"]\nopt-level = 1\n\
                        [profile.release.package]\ngemm.opt-level = 3\nmatmul.opt-level = \"s\"\nlab.codegen-units = 1\n";
        let config: Table =
            notebook_profile(manifest, None, ["lab", "matmul"]).unwrap().parse().unwrap();
        let dev = &config["profile"]["dev"];
        // Cells in parts, with what inlines across them.
        assert_eq!((dev["lto"].as_bool(), dev["opt-level"].as_integer()), (Some(false), Some(3)));
        assert_eq!(dev["debug-assertions"].as_bool(), Some(false));
        assert_eq!(dev["incremental"].as_bool(), Some(false));
        let level = |name: &str| dev["package"][name]["opt-level"].to_string();
        assert_eq!(
            [level("*"), level("gemm"), level("matmul"), level("lab")],
            ["1", "3", "\"s\"", "3"]
        );
        let parts = |of: &Value| of["codegen-units"].as_integer().unwrap();
        let package = |name: &str| parts(&dev["package"][name]);
        assert_eq!([parts(dev), package("lab"), package("*"), package("matmul")], [4, 1, 1, 16]);
        assert_eq!(dev["package"]["*"]["overflow-checks"].as_bool(), Some(false));
        let fast: Table =
            notebook_profile(manifest, Some("1"), ["lab", "matmul"]).unwrap().parse().unwrap();
        let level = |name: &str| fast["profile"]["dev"]["package"][name]["opt-level"].to_string();
        assert_eq!([level("lab"), level("matmul"), level("gemm")], ["1", "\"s\"", "3"]);
        assert_eq!(fast["profile"]["dev"]["opt-level"].as_integer(), Some(1));
        let plain: Table = notebook_profile("", None, ["lab"]).unwrap().parse().unwrap();
        assert_eq!(plain["profile"]["dev"]["package"]["*"]["opt-level"].as_integer(), Some(3));
        assert!(notebook_profile("[profile", None, []).is_err());
    }
}
