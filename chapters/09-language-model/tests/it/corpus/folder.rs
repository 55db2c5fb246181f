use lab::testing::refused;
use language_model::corpus::{
    Corpus,
    folder::{files, workspace},
    keep::Reason,
};

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
    refused(files(&root.path().join("nowhere")), ["nowhere"]);
}

#[test]
fn somebodys_own_folder_is_what_is_text_and_may_be_learned() {
    let root = tempfile::tempdir().unwrap();
    let theirs = "[package]\nname = \"theirs\"\nlicense = \"GPL-3.0-only\"\n";
    let long = "A book has long lines. ".repeat(20_000);
    for (path, text) in [
        ("notes.md", "# Notes\nof my own\n"),
        ("book.txt", &long),
        ("code/a.py", "print('a')\n"),
        ("photo.jpg", "\u{0}\u{1}"),
        ("theirs/Cargo.toml", theirs),
        ("theirs/src/lib.rs", "//! Not mine.\n"),
        (".git/config", "no"),
    ] {
        lab::testing::put(root.path(), path, text);
    }
    let corpus = Corpus::own(root.path()).unwrap();
    let paths: Vec<&str> = corpus.training.iter().map(|source| source.path.as_str()).collect();
    assert_eq!(paths, ["book.txt", "code/a.py", "notes.md"]);
    let left_out = |why| corpus.left_out.get(&why).map(|found| found.files);
    assert_eq!(
        [Reason::Licence, Reason::NotText].map(left_out),
        [Some(2), Some(1)],
        "{:?}",
        corpus.left_out
    );
    refused(Corpus::own(&root.path().join("theirs")), ["2 (licence)", "theirs"]);
    let empty = tempfile::tempdir().unwrap();
    lab::testing::put(empty.path(), "nothing.txt", "");
    refused(Corpus::own(empty.path()), ["no files"]);
    for none in ["nowhere", "nothing.txt"] {
        refused(Corpus::own(&empty.path().join(none)), [none, "--text"]);
    }
}
