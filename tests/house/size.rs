//! The course's size in lines of code, by part: `tests/size.txt` has a line for each, and a part may have fewer. Blank lines
//! and comments are no code, so that an explanation costs nothing.

use crate::{blanked, files, root, tests_in};
use std::{collections::BTreeMap, env, fmt::Write, fs};

/// Where the limits are.
const LIST: &str = "tests/size.txt";
/// Files of more lines than this have a line of their own in the list.
const LONG: usize = 400;

/// The lines of each part, by its name.
type Sizes = BTreeMap<String, usize>;

/// What of a Rust file is compiled for tests alone, and what always is.
fn rust(text: &str) -> [usize; 2] {
    let (code, masked) = (blanked(text, false), blanked(text, true));
    let tests = tests_in(&masked);
    let (mut at, mut lines) = (0, [0, 0]);
    for line in code.split_inclusive('\n') {
        let start = at + line.len() - line.trim_start().len();
        let tested = tests.iter().any(|(from, to)| (*from..*to).contains(&start));
        lines[usize::from(tested)] += usize::from(!line.trim().is_empty());
        at += line.len();
    }
    lines
}

/// The lines of a text whose comments begin with `mark`.
fn script(text: &str, mark: &str) -> usize {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with(mark);
    text.lines().filter(code).count()
}

/// The lines inside a page's fences of Rust.
fn fenced(page: &str) -> usize {
    let (mut inside, mut lines) = (false, 0);
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            inside = !inside && line.starts_with("```rust");
        } else if inside && !line.is_empty() && !line.starts_with("//") && !line.starts_with("{{#")
        {
            lines += 1;
        }
    }
    lines
}

/// The crate of a Rust file, and the class of what it always compiles.
fn place(path: &str) -> (&str, &str) {
    let parts: Vec<&str> = path.split('/').collect();
    let (name, inside) = match *parts.as_slice() {
        ["chapters" | "tools", name, ..] => (name, &parts[2..]),
        _ => ("command", &parts[..]),
    };
    // A crate inside a chapter is like a chapter.
    let inside = match inside {
        ["cube" | "engine" | "gpu" | "tile", inside @ ..] => inside,
        _ => inside,
    };
    let measured = |part: &&str| ["measured", "measured.rs", "runner", "runner.rs"].contains(part);
    let class = match inside.first() {
        Some(&"src") if !path.starts_with("chapters/") || name == "00-lab" => "machinery",
        Some(&"src") if inside.iter().any(measured) => "machinery",
        Some(&"src") => "ideas",
        Some(&"build.rs") => "machinery",
        _ => "tests",
    };
    (name, class)
}

/// Every part's size as the files are.
fn counted() -> Sizes {
    let mut sizes = Sizes::new();
    for folder in ["chapters", "tools", "src", "tests"] {
        for (path, text) in files(folder, &[".rs"]) {
            let [always, tested] = rust(&text);
            let (name, class) = place(&path);
            *sizes.entry(format!("{name} {class}")).or_default() += always;
            *sizes.entry(format!("{name} tests")).or_default() += tested;
            if always + tested > LONG {
                sizes.insert(format!("long {path}"), always + tested);
            }
        }
    }
    let others: [(&str, &[&str], &str); 4] = [
        ("kernels", &[".cl", ".cu", ".wgsl", ".h", ".cpp"], "//"),
        ("javascript", &[".js", ".mjs"], "//"),
        ("python", &[".py"], "#"),
        ("shell", &[".sh"], "#"),
    ];
    for (name, endings, mark) in others {
        let all = ["chapters", "book", "tools", "tests"].iter().flat_map(|f| files(f, endings));
        let lines = all.map(|(_, text)| script(&blanked(&text, false), mark)).sum();
        sizes.insert(name.to_owned(), lines);
    }
    sizes.extend(engine());
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap_or_default();
    *sizes.entry("shell".to_owned()).or_default() += script(&ci, "#");
    let pages = ["book", "chapters"].iter().flat_map(|folder| files(folder, &[".md"]));
    sizes.insert("fences".to_owned(), pages.map(|(_, text)| fenced(&text)).sum());
    sizes
}

/// The engine with its kernels and tests, and what of it an evening reads: the modules that its first file doesn't leave to
/// another one.
fn engine() -> [(String, usize); 2] {
    let code = |(path, text): (String, String)| (path, script(&blanked(&text, false), "//"));
    let of = |folder| files(&format!("chapters/05-performance/{folder}"), &[".rs", ".cl", ".h"]);
    let all: Vec<_> = [of("engine"), of("gpu")].concat().into_iter().map(code).collect();
    let first = include_str!("../../chapters/05-performance/engine/src/lib.rs");
    let (_, later) = first.split_once("another one").expect("a list for another evening");
    let is_first = |path: &str| {
        path.split_once("engine/src/").is_some_and(|(_, module)| {
            !later.contains(&format!("`{}`", module.trim_end_matches(".rs").replace('/', "::")))
        })
    };
    let evening = all.iter().filter(|(path, _)| is_first(path)).map(|(_, lines)| lines).sum();
    let all = all.iter().map(|(_, lines)| lines).sum();
    [("engine in all".to_owned(), all), ("engine in an evening".to_owned(), evening)]
}

/// Reads a list as [`written`] makes it.
fn read(list: &str) -> Sizes {
    let line = |line: &str| {
        let (lines, part) = line.trim().split_once(' ')?;
        Some((part.trim().to_owned(), lines.parse().ok()?))
    };
    list.lines().filter_map(line).collect()
}

/// A list: each part's lines, and their sums.
fn written(sizes: &Sizes) -> String {
    let mut list = "# Lines of code, without blanks and comments: no part may have more. Who raises a line lowers another in the same\n\
                    # commit. `SIZE=lower cargo test --test house -- --ignored` writes what is there where it is less.\n"
        .to_owned();
    for class in ["ideas", "machinery", "tests"] {
        let of = |(part, _): &(&String, &usize)| part.ends_with(class);
        let sum: usize = sizes.iter().filter(of).map(|(_, lines)| lines).sum();
        let _ = writeln!(list, "# {sum} {class}");
    }
    for (part, lines) in sizes {
        let _ = writeln!(list, "{lines:6} {part}");
    }
    list
}

/// What is larger than its line, and what has none.
fn excess(sizes: &Sizes, limits: &Sizes) -> Vec<String> {
    let over = |(part, lines): (&String, &usize)| {
        let limit = limits.get(part).copied().unwrap_or(0);
        (*lines > limit)
            .then(|| format!("{part} has {lines} lines of code, and {LIST} allows {limit}"))
    };
    sizes.iter().filter_map(over).collect()
}

#[test]
#[ignore = "a reader's own code may be as long as it likes; .ci/run asks for it"]
fn size_only_falls() {
    let (sizes, file) = (counted(), root().join(LIST));
    let limits = read(&fs::read_to_string(&file).expect("the list is there"));
    if env::var("SIZE").is_ok_and(|what| what == "lower") {
        let lower = |(part, lines): (&String, &usize)| {
            let limit = limits.get(part).copied().unwrap_or(0);
            (limit > 0).then(|| (part.clone(), limit.min(*lines)))
        };
        fs::write(file, written(&sizes.iter().filter_map(lower).collect())).expect("the list");
    }
    let wrong = excess(&sizes, &limits);
    assert!(wrong.is_empty(), "{} parts have grown:\n{}\n", wrong.len(), wrong.join("\n"));
}

#[test]
fn lines_of_code_are_counted() {
    let text = "//! Doc.\n\nfn a() { // why\n    /* b\n    c */ d(\"\n// in a string\n\");\n}\n\
                #[cfg(test)]\nmod tests {\n    // No.\n    fn e() {}\n}\nfn f() {}\n";
    assert_eq!(rust(text), [6, 4]);
    assert_eq!(script("# a\nb\n\n  # c\nd # e\n", "#"), 2);
    assert_eq!(fenced("a\n```rust,cell\nlet a = 1;\n// b\n\n```\nc\n```text\nd\n```\n"), 1);
    for (path, part) in [
        ("chapters/01-matmul/src/naive.rs", ("01-matmul", "ideas")),
        ("chapters/01-matmul/src/measured/figures.rs", ("01-matmul", "machinery")),
        ("chapters/01-matmul/exercises/a/exercise.rs", ("01-matmul", "tests")),
        ("chapters/00-lab/src/machine.rs", ("00-lab", "machinery")),
        ("tools/cells/build.rs", ("cells", "machinery")),
        ("src/main.rs", ("command", "machinery")),
        ("tests/house/main.rs", ("command", "tests")),
    ] {
        assert_eq!(place(path), part, "{path}");
    }
    let sizes = Sizes::from([("a ideas".to_owned(), 3), ("b tests".to_owned(), 1)]);
    assert_eq!(read(&written(&sizes)), sizes);
    let limits = Sizes::from([("a ideas".to_owned(), 2), ("b tests".to_owned(), 1)]);
    assert_eq!(excess(&sizes, &limits).len(), 1);
    assert_eq!(excess(&sizes, &Sizes::new()).len(), 2, "a part without a line has none to spare");
}
