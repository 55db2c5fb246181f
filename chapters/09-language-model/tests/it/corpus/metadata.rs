use language_model::corpus::metadata::{Metadata, checksums, on_every_platform, packages};
use std::collections::BTreeMap;

#[test]
fn a_lock_file_gives_the_checksums_of_archives() {
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n\
                checksum = \"00ff\"\ndependencies = [\n \"b\",\n]\n\n[[package]]\nname = \"b\"\nversion = \"0.1.0\"\n";
    let found = checksums(lock);
    assert_eq!(found.len(), 1);
    assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "00ff");
    assert!(checksums("").is_empty());
}

#[test]
fn crates_of_one_platform_and_of_tests_are_left_out() {
    let package = |name: &str, source: Option<&str>| {
        serde_json::json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT", "source": source,
            "manifest_path": format!("/registry/src/index/{name}-1.0.0/Cargo.toml") })
    };
    let on = |name: &str, kind: Option<&str>, target: Option<&str>| serde_json::json!({ "pkg": name, "dep_kinds": [{ "kind": kind, "target": target }] });
    let registry = Some("registry+https://example.org/index");
    let metadata = serde_json::json!({
        "packages": [package("root", None), package("always", registry), package("build", registry),
            package("below", registry), package("unix", registry), package("test", registry),
            package("git", Some("git+https://example.org"))],
        "workspace_members": ["root"],
        "resolve": { "root": "root", "nodes": [
            { "id": "root", "deps": [on("always", None, None), on("build", Some("build"), None), on("git", None, None),
                on("unix", None, Some("cfg(unix)")), on("test", Some("dev"), None)] },
            { "id": "always", "deps": [on("below", None, None)] },
            { "id": "unix", "deps": [on("below", None, None)] },
        ] },
    });
    let metadata: Metadata = serde_json::from_value(metadata).unwrap();
    let crates = on_every_platform(&metadata, &BTreeMap::new());
    let names: Vec<&str> = crates.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["always", "below", "build"]);
    lab::testing::refused(crates[0].read(), ["`always 1.0.0`", "cargo fetch"]);
}

#[test]
fn a_folder_that_is_no_workspace_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let why = packages(folder.path()).unwrap_err();
    assert!(why.starts_with("`cargo metadata` says: ") || why.contains("no `cargo`"), "{why}");
}
