//! What helpers and a public forge read keeps its promises: each path that it names exists, each command is one.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The guides and everything under `.github`, with their texts.
fn files() -> Vec<(PathBuf, String)> {
    let mut found: Vec<PathBuf> =
        ["CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "Containerfile"]
            .map(PathBuf::from)
            .into();
    let mut folders = vec![PathBuf::from(".github"), PathBuf::from(".devcontainer")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.into_iter().map(|path| (path.clone(), read(&root().join(path)))).collect()
}

/// Lines without what a comment or a sentence puts around them: words between spaces and marks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "`'\"(),;|<>[]:".contains(c))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty())
}

/// What follows `start` wherever it is, to the end of the code or the line, as words.
fn commands<'t>(text: &'t str, start: &str) -> Vec<Vec<&'t str>> {
    text.match_indices(start)
        .map(|(at, _)| {
            let rest = &text[at + start.len()..];
            let end = rest.find(['`', '\n', '#', '|', ',', '"']).unwrap_or(rest.len());
            rest[..end].split_whitespace().collect()
        })
        .collect()
}

/// The names of the workspace's packages and of this one's integration tests.
fn names() -> (BTreeSet<String>, BTreeSet<String>) {
    let mut packages = BTreeSet::from(["throughput".to_owned(), "bookbinder".to_owned()]);
    for chapter in fs::read_dir(root().join("chapters")).unwrap().flatten() {
        let manifest = read(&chapter.path().join("Cargo.toml"));
        let name = manifest.split("name = \"").nth(1).unwrap().split('"').next().unwrap();
        packages.insert(name.to_owned());
    }
    let tests = fs::read_dir(root().join("tests")).unwrap().flatten();
    let tests = tests.filter_map(|entry| {
        let name = entry.file_name().to_str()?.to_owned();
        let folder = entry.path().join("main.rs").is_file();
        name.strip_suffix(".rs").map(str::to_owned).or_else(|| folder.then_some(name))
    });
    (packages, tests.collect())
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
    let (packages, tests) = names();
    let mut seen = 0;
    for (file, text) in files() {
        let file = file.display();
        for start in ["cargo run --release -- ", "cargo run -- "] {
            for words in commands(&text, start) {
                let out = Command::new(env!("CARGO_BIN_EXE_throughput"))
                    .args(&words)
                    .arg("--help")
                    .output()
                    .unwrap();
                assert!(out.status.success(), "{file}: `throughput {}`", words.join(" "));
                seen += 1;
            }
        }
        for start in ["cargo test ", "cargo clippy ", "cargo doc "] {
            for words in commands(&text, start) {
                for pair in words.windows(2) {
                    let known = match pair[0] {
                        "-p" => packages.contains(pair[1]) || ["NAME", "CRATE"].contains(&pair[1]),
                        "--test" => tests.contains(pair[1]),
                        _ => continue,
                    };
                    assert!(known, "{file}: there is no {}", pair[1]);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 15, "{seen} commands");
}

#[test]
fn what_the_workflows_do_is_written_down_for_a_machine_with_nothing() {
    let workflow = |name: &str| read(&root().join(".github/workflows").join(name));
    let ci = workflow("ci.yml");
    assert!(ci.contains("run: .ci/run\n"));
    // The container's compiler is the oldest that the course promises to build with.
    let manifest = read(&root().join("Cargo.toml"));
    let rust = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(ci.contains(&format!("container: rust:{rust}-")), "Cargo.toml says Rust {rust}");
    assert!(workflow("book.yml").contains("book build --docs"));
    for (file, text) in files() {
        assert!(!text.contains('\t'), "{}: YAML has no tabs", file.display());
    }
}

#[test]
fn the_container_has_what_the_checks_install() {
    let image = read(&root().join("Containerfile"));
    let stages: Vec<&str> =
        image.lines().filter_map(|line| line.strip_prefix("FROM ")?.split(" AS ").nth(1)).collect();
    let dev = read(&root().join(".devcontainer/devcontainer.json"));
    let target = dev.split("\"target\": \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(stages.contains(&target), "{target} is none of {stages:?}");

    let installed: BTreeSet<&str> = words(&image).collect();
    let checks = read(&root().join(".ci/run"));
    let packages = checks.split("for package in ").nth(1).unwrap().split(';').next().unwrap();
    // A browser tests the book and does not make it; `build-essential` has the compiler.
    for package in packages.split_whitespace().filter(|name| !["chromium", "g++"].contains(name)) {
        assert!(installed.contains(package), "the container has no {package}");
    }
    let cuda = read(&root().join("tools/cuda/toolkit.sh"));
    let version = cuda.split("Puts the CUDA ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(image.contains(&format!("nvidia/cuda:{version}.")), "the toolkit is CUDA {version}");
}

#[test]
fn links_between_the_guides_lead_somewhere() {
    for (file, text) in
        files().into_iter().filter(|(file, _)| file.extension() == Some("md".as_ref()))
    {
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap();
            let local = !target.starts_with("http");
            assert!(!local || root().join(target).exists(), "{} links to {target}", file.display());
        }
    }
}
