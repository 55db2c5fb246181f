//! What helpers and a public forge read keeps its promises: each path that it names exists, each command is one.

use crate::{read, root, stale::no_command};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// The guides and everything under `.github`, with their texts.
fn files() -> Vec<(PathBuf, String)> {
    let guides =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "Containerfile"];
    let mut found: Vec<PathBuf> = guides.map(PathBuf::from).into();
    let mut folders = vec![PathBuf::from(".github"), PathBuf::from(".devcontainer")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.into_iter().map(|path| (path.clone(), read(path))).collect()
}

/// Lines without what a comment or a sentence puts around them: words between spaces and marks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "`'\"(),;|<>[]:".contains(c))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty())
}

/// The calls of cargo in a text, each to the end of the code or the line.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let starts = ["cargo run ", "cargo test ", "cargo clippy ", "cargo doc "].into_iter();
    starts.flat_map(|start| text.match_indices(start)).map(|(at, _)| {
        let rest = &text[at..];
        &rest[..rest.find(['`', '\n', '#', '|', ',', '"']).unwrap_or(rest.len())]
    })
}

#[test]
fn each_path_exists() {
    const OURS: [&str; 10] = [
        "book/",
        "chapters/",
        "notebooks/",
        "src/",
        "tests/",
        "tools/",
        ".ci/",
        ".github/",
        "../../book/",
        "Cargo.",
    ];
    let mut seen = 0;
    for (file, text) in files() {
        for word in words(&text).filter(|word| OURS.iter().any(|start| word.starts_with(start))) {
            let path = word.trim_start_matches("../");
            // Capitals, `NN` and what cargo makes are placeholders for the reader's own.
            if path.chars().any(|c| c.is_ascii_uppercase()) && !root().join(path).exists() {
                let own = ["NAME", "NN-name", "MACHINE"].iter().any(|own| path.contains(own));
                assert!(own, "{} names {word}", file.display());
                continue;
            }
            let made = path.contains("NN-name") || path.starts_with("notebooks/.jupyter");
            assert!(made || root().join(path).exists(), "{} names {word}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen} paths");
}

#[test]
fn each_command_is_one() {
    let mut seen = 0;
    for (file, text) in files() {
        for command in commands(&text) {
            // The reader's own.
            let command = command.replace("-p NAME", "").replace("-p CRATE", "");
            let why = no_command(&command);
            assert!(why.is_none(), "{}: `{command}`: {why:?}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 15, "{seen} commands");
}

#[test]
fn what_the_workflows_do_is_written_down_for_a_machine_with_nothing() {
    let workflow = |name: &str| read(format!(".github/workflows/{name}"));
    let ci = workflow("ci.yml");
    assert!(ci.contains("run: .ci/run\n"));
    // The container's compiler is the oldest that the course promises to build with.
    let manifest = read("Cargo.toml");
    let rust = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(ci.contains(&format!("container: rust:{rust}-")), "Cargo.toml says Rust {rust}");
    assert!(workflow("book.yml").contains("book build --docs"));
    for (file, text) in files() {
        assert!(!text.contains('\t'), "{}: YAML has no tabs", file.display());
    }
}

#[test]
fn the_container_has_what_the_checks_install() {
    let image = read("Containerfile");
    let stages: Vec<&str> =
        image.lines().filter_map(|line| line.strip_prefix("FROM ")?.split(" AS ").nth(1)).collect();
    let dev = read(".devcontainer/devcontainer.json");
    let target = dev.split("\"target\": \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(stages.contains(&target), "{target} is none of {stages:?}");

    let installed: BTreeSet<&str> = words(&image).collect();
    let checks = read(".ci/run");
    let stage = checks.split("'system packages' packages ").nth(1).unwrap();
    let packages = stage.split("\nstage ").next().unwrap().replace('\\', "");
    assert!(packages.contains("libclang-dev"), "{packages}");
    // A browser tests the book and does not make it; `build-essential` has the compiler.
    let others = ["chromium-headless-shell", "g++"];
    for package in packages.split_whitespace().filter(|name| !others.contains(name)) {
        assert!(installed.contains(package), "the container has no {package}");
    }
    let cuda = read("tools/cuda/toolkit.sh");
    let version = cuda.split("Puts the CUDA ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(image.contains(&format!("nvidia/cuda:{version}.")), "the toolkit is CUDA {version}");
}

#[test]
fn links_between_the_guides_lead_somewhere() {
    let guides = files().into_iter().filter(|(file, _)| file.extension() == Some("md".as_ref()));
    for (file, text) in guides {
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap();
            let local = !target.starts_with("http");
            assert!(!local || root().join(target).exists(), "{} links to {target}", file.display());
        }
    }
}
