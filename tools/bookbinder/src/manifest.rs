//! The contents of a crate's `Cargo.toml`.

use toml::Table;

/// The name in a manifest's `[package]`.
pub fn package_name(manifest: &str) -> Option<String> {
    let manifest: Table = manifest.parse().ok()?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// The names in a manifest's `[dependencies]`.
pub fn dependencies(manifest: &str) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap_or_default();
    let dependencies = manifest.get("dependencies").and_then(|all| all.as_table());
    dependencies.into_iter().flat_map(Table::keys).cloned().collect()
}
