//! The corpus of made-up crates, and of the course's own.

mod archive;
mod duplicates;
mod folder;
mod keep;
mod licence;
mod metadata;
mod split;

use lab::testing::{Tool, need, refused};
use language_model::corpus::{
    Corpus, Package, Unsorted,
    duplicates::first_of_each,
    folder::files as files_of,
    keep::{Reason, left_out},
    metadata::{Crate, packages},
};
use std::{collections::BTreeSet, fs, path::Path};

/// A crate with these files.
fn package(name: &str, version: &str, files: &[(&str, &[u8])]) -> Unsorted {
    let [name, version, licence] = [name, version, "MIT"].map(str::to_owned);
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.to_vec())).collect();
    (Package { name, version, licence, ..Package::default() }, files)
}

/// A file that no other resembles.
fn text(seed: usize, functions: usize) -> Vec<u8> {
    let mut text = String::new();
    for n in 0..functions {
        // Digits would make it a table.
        let [a, b] = [seed * 7 + 1, n * 31 + seed].map(|n| {
            format!("{n}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>()
        });
        text += &format!("fn {a}_{b}({b}: &str) -> {a} {{\n    {b}.{a}({a}_{b})\n}}\n");
    }
    text.into_bytes()
}

fn crates() -> Vec<Unsorted> {
    let mut crates: Vec<Unsorted> = (0..30)
        .map(|n| {
            package(
                &format!("crate{n}"),
                "1.0.0",
                &[("src/lib.rs", &text(n, 10 + n)), ("build.rs", &text(100 + n, 3))],
            )
        })
        .collect();
    crates.push(package("crate3-derive", "0.2.0", &[("src/lib.rs", &text(200, 4))]));
    crates.push(package(
        "crate3",
        "2.0.0",
        &[("src/lib.rs", &text(3, 13)), ("src/new.rs", &text(300, 5))],
    ));
    crates.push(package(
        "hostile",
        "1.0.0",
        &[
            ("a.rs", b""),
            ("b.rs", b"fn \xff\xfe"),
            ("c.rs", b"fn a() {}\0"),
            ("d.rs", &vec![b'x'; 2 << 20]),
            ("e.rs", &[b"// ".to_vec(), vec![b'x'; 5000]].concat()),
        ],
    ));
    crates
}

#[test]
fn a_corpus_is_split_by_crate_and_the_same_in_any_order() {
    let corpus = Corpus::of(crates()).unwrap();
    let mut reversed = crates();
    reversed.reverse();
    for (_, files) in &mut reversed {
        files.reverse();
    }
    let other = Corpus::of(reversed).unwrap();
    assert_eq!((&corpus.sha256, &corpus.crates), (&other.sha256, &other.crates));
    assert_eq!((&corpus.training, &corpus.validation), (&other.training, &other.validation));
    assert_eq!(corpus.sha256.len(), 64);

    let names = |sources: &[language_model::corpus::Source]| -> BTreeSet<String> {
        sources.iter().map(|s| s.krate.split('-').next().unwrap().to_owned()).collect()
    };
    assert!(names(&corpus.training).is_disjoint(&names(&corpus.validation)));
    let [training, validation] = corpus.bytes();
    assert!(validation > 0 && validation * 15 < training, "{training} and {validation}");
    let sums: u64 = corpus.crates.iter().map(|package| package.bytes).sum();
    assert_eq!(sums, training + validation);

    // The same file of two versions is in it once.
    assert_eq!(corpus.left_out[&Reason::Duplicate].files, 1);
    let reasons = [Reason::Empty, Reason::NotText, Reason::Large, Reason::LongLine];
    assert_eq!(reasons.map(|why| corpus.left_out[&why].files), [1, 2, 1, 1]);
    assert!(corpus.crates.iter().all(|package| package.name != "hostile"));
}

#[test]
fn a_changed_byte_or_name_changes_the_digest() {
    let digest = |change: fn(&mut Vec<Unsorted>)| {
        let mut crates = crates();
        change(&mut crates);
        Corpus::of(crates).unwrap().sha256
    };
    let digests = [
        digest(|_| {}),
        digest(|crates| crates[5].1[0].1.push(b'\n')),
        digest(|crates| crates[5].1[0].0.push('s')),
        digest(|crates| crates[5].0.version.push('1')),
        digest(|crates| drop(crates.remove(5))),
    ];
    assert_eq!(BTreeSet::from(digests).len(), 5);
}

#[test]
fn a_copy_of_the_validation_text_is_not_learned() {
    let corpus = Corpus::of(crates()).unwrap();
    let tested = corpus.validation[0].clone();
    let mut crates = crates();
    let copy = [b"// A copy.\n\n", &tested.text[..]].concat();
    let into =
        crates.iter_mut().find(|(p, _)| corpus.training.iter().any(|s| s.krate == p.name)).unwrap();
    into.1.push(("src/copy.rs".to_owned(), copy));
    let with = Corpus::of(crates).unwrap();
    // The split may move with the sizes; wherever the copy is, it is in once.
    let alike =
        with.training.iter().chain(&with.validation).filter(|s| s.text.ends_with(&tested.text));
    assert_eq!(alike.count(), 1);
}

#[test]
fn without_a_registry_the_workspaces_own_sources_serve() {
    let root = tempfile::tempdir().unwrap();
    refused(Corpus::find(root.path()), ["no Rust source"]);
    for n in 0..4 {
        let folder = root.path().join(format!("chapters/0{n}-some"));
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("Cargo.toml"), "").unwrap();
        fs::write(folder.join("src/lib.rs"), text(n, 5)).unwrap();
    }
    let corpus = Corpus::find(root.path()).unwrap();
    assert!(
        corpus.note.as_ref().is_some_and(|note| note.contains("own sources")),
        "{:?}",
        corpus.note
    );
    assert_eq!((corpus.training.len(), corpus.validation.len()), (3, 1));
}

#[test]
fn a_crate_whose_source_is_missing_or_changed_is_named() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("registry/src/index-1/some-1.2.3");
    let krate = Crate {
        name: "some".to_owned(),
        version: "1.2.3".to_owned(),
        licence: "MIT".to_owned(),
        folder: folder.clone(),
        checksum: Some("00".repeat(32)),
    };
    refused(krate.read(), ["`some 1.2.3` is missing or changed", "cargo fetch"]);
    // Unpacked files serve where there is no archive.
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), "fn a() {}\n").unwrap();
    assert_eq!(krate.read().unwrap().1, [("src/lib.rs".to_owned(), b"fn a() {}\n".to_vec())]);
    // An archive that is not the pinned one does not.
    let cache = home.path().join("registry/cache/index-1");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("some-1.2.3.crate"), b"not this one").unwrap();
    refused(krate.read(), ["`some 1.2.3`", "pins"]);
}

/// The course's own crates, where they have all been downloaded; their archives are read and checked.
#[test]
fn the_courses_crates_have_sources_of_people() {
    let crates = packages(&Corpus::root());
    let Some(crates) = need(Tool::System, crates) else { return };
    let has = |name: &str| crates.iter().any(|package| package.name == name);
    assert!(has("serde") && has("rayon"));
    // Those of one system, and those of tests.
    assert!(!has("windows-sys") && !has("proptest"), "{crates:?}");
    let few = crates.iter().filter(|c| ["rayon", "cfg-if", "itoa"].contains(&c.name.as_str()));
    for package in few {
        let (package, files) = package.read().unwrap();
        let kept = files
            .iter()
            .filter(|(_, text)| left_out(&package.name, &package.licence, text).is_none());
        assert!(kept.count() > 0, "{}", package.name);
    }
}

#[test]
fn files_of_the_tokenizer_are_kept_and_differ() {
    let files = files_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tokenizer")).unwrap();
    for (path, text) in &files {
        assert_eq!(left_out("language_model", "MIT", text), None, "{path}");
    }
    let texts: Vec<&[u8]> = files.iter().map(|(_, text)| &text[..]).collect();
    assert!(first_of_each(&texts).into_iter().all(|first| first));
}
