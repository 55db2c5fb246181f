use language_model::corpus::folder::{files, workspace};

#[test]
fn files_of_a_workspace_belong_to_their_packages() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("Cargo.toml", ""),
        ("src/main.rs", "fn main() {}"),
        ("chapters/01-one/Cargo.toml", ""),
        ("chapters/01-one/src/lib.rs", "//! One."),
        ("chapters/01-one/exercises/Cargo.toml", ""),
        ("chapters/01-one/exercises/a.rs", "//! A."),
        ("target/debug/made.rs", "no"),
        (".hidden/some.rs", "no"),
    ] {
        lab::testing::put(root.path(), path, text);
    }
    let found = workspace(root.path()).unwrap();
    let names: Vec<(&str, &str)> =
        found.iter().map(|(package, files)| (package.name.as_str(), files[0].0.as_str())).collect();
    assert_eq!(
        names,
        [
            ("01-one.exercises", "chapters/01-one/exercises/a.rs"),
            ("01-one", "chapters/01-one/src/lib.rs"),
            ("workspace", "src/main.rs"),
        ]
    );
    assert!(files(&root.path().join("nowhere")).unwrap_err().to_string().contains("nowhere"));
}
