//! The house is in order: no modules that need each other within a crate, no anchor without a quote, no public item
//! without a use. Each check reads the sources as text and names all that it finds.

mod size;

use bookbinder::page::tidy;
use regex::{Captures, Regex};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
    sync::LazyLock,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file in and below `folder` with one of these endings, by its path from the root. Built things and this course's
/// own test course (`fixture`) are left out.
fn files(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let (mut found, mut open) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            // The reader's own solutions, which git ignores, lie beside the course's.
            let own = name == "exercise.rs" && path.with_file_name("solution.rs").is_file();
            let passed = ["target", "fixture", "node_modules"].contains(&&*name);
            if own || passed || name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let path = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy();
                found.push((path.replace('\\', "/"), text));
            }
        }
    }
    found.sort();
    found
}

fn assert_none(mut wrong: Vec<String>) {
    wrong.sort();
    assert!(wrong.is_empty(), "{} findings:\n{}\n", wrong.len(), wrong.join("\n"));
}

// ---- Rust as text ------------------------------------------------------------------------------------

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}

/// Spaces in the place of a text, on as many lines.
fn spaces(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// `text` with spaces for its comments and characters, and for its strings if `strings`. Nothing moves.
fn blanked(text: &str, strings: bool) -> String {
    static NO_CODE: LazyLock<Regex> = LazyLock::new(|| {
        let comment = r"//[^\n]*|/\*.*?\*/";
        let character = r"'(?:\\.[^']*|[^'\\])'";
        let string = r##"\bb?r"[^"]*"|\bb?r#".*?"#|"(?:\\.|[^"\\])*""##;
        regex(&format!("(?s){comment}|{character}|{string}"))
    });
    let blank = |found: &Captures| {
        let string = !found[0].starts_with(['/', '\'']);
        if string && !strings { found[0].to_owned() } else { spaces(&found[0]) }
    };
    NO_CODE.replace_all(text, blank).into_owned()
}

/// Where the items are that are compiled for tests alone, in text without comments and strings.
fn tests_in(masked: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for start in ["#[cfg(test)]", "#[cfg(all(test,", "#[cfg(all(test ,"] {
        for (at, _) in masked.match_indices(start) {
            let (mut depth, mut end) = (0_usize, masked.len());
            for (offset, c) in masked[at..].char_indices().skip(start.len()) {
                match c {
                    '{' | '(' | '[' => depth += 1,
                    '}' | ')' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                // An item ends with its body, or without one; attributes and arguments may come before.
                if depth == 0
                    && matches!(c, '}' | ';' | ',')
                    && !masked[at..at + offset].ends_with("test")
                {
                    end = at + offset + 1;
                    break;
                }
            }
            found.push((at, end));
        }
    }
    found
}

/// A source file without comments and without what only tests see; without its strings if `strings`.
fn code(text: &str, strings: bool) -> String {
    let mut code = blanked(text, strings);
    for (from, to) in tests_in(&blanked(text, true)) {
        code.replace_range(from..to, &spaces(&code[from..to]));
    }
    code
}

/// The words of a text, each with where it starts.
fn words(text: &str) -> Vec<(usize, &str)> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"\w+"));
    WORD.find_iter(text).map(|word| (word.start(), word.as_str())).collect()
}

// ---- (a) Modules ---------------------------------------------------------------------------------------

/// A module's path from its crate: `["simt", "memory"]`; the crate itself is empty.
type Module = Vec<String>;

/// One module: what it names, and what it only passes on.
struct Source {
    /// Paths that it names, from the crate.
    named: Vec<Module>,
    /// Names that it passes on (`pub use`), and where they are from.
    passed_on: Vec<(String, Module)>,
}

/// The module that a file below `src` is.
fn module(file: &str) -> Module {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if ["lib", "main"].contains(&path) {
        Vec::new()
    } else {
        path.split('/').map(str::to_owned).collect()
    }
}

/// The paths of a tree (`a::{b, c as d}`), each with the name that it gets.
fn leaves(tree: &str) -> Vec<(Module, String)> {
    let Some((before, rest)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path: Module = path.split("::").map(|part| part.trim().to_owned()).collect();
        // `use a::{self}` is `a`.
        path.truncate(
            path.iter().skip(1).position(|part| part == "self").map_or(path.len(), |at| at + 1),
        );
        let last = path.last().cloned().unwrap_or_default();
        return vec![(path, if name.is_empty() { last } else { name.trim().to_owned() })];
    };
    let mut depth = 0;
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let parts = inside.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| leaves(&format!("{before}{part}"))).collect()
}

/// A path as it is written in `module`, from the crate; `None` if it leads elsewhere.
fn absolute(path: &[String], module: &Module, aliases: &HashMap<String, Module>) -> Option<Module> {
    let first = path.first()?.as_str();
    let mut base = match first {
        "crate" => Vec::new(),
        "self" => module.clone(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        name => {
            let known = aliases.get(name)?;
            return Some(known.iter().chain(&path[1..]).cloned().collect());
        }
    };
    for part in &path[1..] {
        if part == "super" {
            base.pop();
        } else if part != "self" {
            base.push(part.clone());
        }
    }
    Some(base)
}

fn source(text: &str, module: &Module, all: &BTreeSet<Module>) -> Source {
    static USE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);"));
    static PATH: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:\w+\s*::\s*)+\w+"));
    let is_child = |other: &&Module| other.len() == module.len() + 1 && other.starts_with(module);
    let by_name = |child: &Module| (child[module.len()].clone(), child.clone());
    let mut aliases: HashMap<String, Module> = all.iter().filter(is_child).map(by_name).collect();
    let (mut named, mut passed_on) = (Vec::new(), Vec::new());
    for found in USE.captures_iter(text) {
        let public = found.get(1).is_some();
        for (path, name) in leaves(&found[2]) {
            let Some(path) = absolute(&path, module, &aliases) else { continue };
            if public {
                passed_on.push((name.clone(), path.clone()));
            }
            // A module that is imported is needed where its name is used.
            if all.contains(&path) {
                aliases.insert(name, path);
            } else if !public {
                named.push(path);
            }
        }
    }
    let rest = USE.replace_all(text, "");
    let paths = PATH.find_iter(&rest).flat_map(|path| leaves(path.as_str()));
    named.extend(paths.filter_map(|(path, _)| absolute(&path, module, &aliases)));
    Source { named, passed_on }
}

/// The module of what `path` names: the longest one that it begins with, or where that one has it from.
fn owner(path: &Module, all: &BTreeMap<Module, Source>, depth: usize) -> Module {
    let mut length = path.len();
    while !all.contains_key(&path[..length]) {
        length -= 1;
    }
    let holder = path[..length].to_vec();
    let passed_on = path.get(length).and_then(|item| {
        all[&holder].passed_on.iter().find(|(name, _)| name == item).map(|(_, from)| from)
    });
    match passed_on {
        Some(from) if depth < 8 => {
            let path: Module = from.iter().chain(&path[length + 1..]).cloned().collect();
            owner(&path, all, depth + 1)
        }
        _ => holder,
    }
}

/// For each module of a crate, the modules that it needs.
fn needs(files: &[(String, String)]) -> BTreeMap<Module, BTreeSet<Module>> {
    let all: BTreeSet<Module> = files.iter().map(|(file, _)| module(file)).collect();
    let sources: BTreeMap<Module, Source> = files
        .iter()
        .map(|(file, text)| (module(file), source(&code(text, true), &module(file), &all)))
        .collect();
    sources
        .iter()
        .map(|(module, source)| {
            let needed = source.named.iter().map(|path| owner(path, &sources, 0));
            (module.clone(), needed.filter(|other| other != module).collect())
        })
        .collect()
}

/// All modules that one needs, directly or through others.
fn reached(from: &Module, needs: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in &needs[module] {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

/// The groups of modules that need each other, each as a line with the steps between them.
fn circles(files: &[(String, String)]) -> Vec<String> {
    let needs = needs(files);
    let reach: BTreeMap<&Module, BTreeSet<Module>> =
        needs.keys().map(|module| (module, reached(module, &needs))).collect();
    let name = |module: &Module| {
        if module.is_empty() { "crate".to_owned() } else { module.join("::") }
    };
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for module in needs.keys().filter(|module| reach[module].contains(*module)) {
        if seen.contains(module) {
            continue;
        }
        let group: BTreeSet<&Module> = needs
            .keys()
            .filter(|other| reach[module].contains(*other) && reach[other].contains(module))
            .collect();
        seen.extend(group.iter().copied());
        let steps: Vec<String> = group
            .iter()
            .flat_map(|from| needs[*from].iter().map(move |to| (*from, to)))
            .filter(|(_, to)| group.contains(to))
            .map(|(from, to)| format!("{} needs {}", name(from), name(to)))
            .collect();
        found.push(format!("{} modules need each other: {}", group.len(), steps.join(", ")));
    }
    found
}

/// The folders `src` of the crates whose order is checked.
fn crates() -> Vec<String> {
    let chapters = fs::read_dir(root().join("chapters")).unwrap().flatten();
    let chapters = chapters.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut all: Vec<String> = chapters.map(|name| format!("chapters/{name}/src")).collect();
    let inside = ["engine", "gpu"].map(|name| format!("chapters/05-performance/{name}/src"));
    all.extend(inside);
    all.push("tools/bookbinder/src".to_owned());
    all
}

#[test]
fn no_modules_of_a_crate_need_each_other() {
    let mut wrong = Vec::new();
    for krate in crates() {
        let below = |(file, text): (String, String)| (file[krate.len() + 1..].to_owned(), text);
        let files: Vec<_> = files(&krate, &[".rs"]).into_iter().map(below).collect();
        wrong.extend(circles(&files).into_iter().map(|circle| format!("{krate}: {circle}")));
    }
    assert_none(wrong);
}

#[test]
fn circles_are_found_and_what_is_none_is_not() {
    let found = |files: &[(&str, &str)]| {
        let files: Vec<_> = files.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        circles(&files)
    };
    let lib = ("lib.rs", "pub mod a;\npub mod b;\nmod c;\npub use a::A;\n");
    for (a, b, c) in [
        ("use crate::b::B;", "use crate::a::A;", ""),
        (
            "use crate::{b, c};\nfn f() { b::g() }",
            "use super::c::{self, C as D};\nfn g() {}",
            "fn f() { crate::a::x() }",
        ),
        // Through what the crate passes on.
        ("fn f() { crate::b::g() }", "use crate::A;", ""),
        ("use crate::b;\nfn f(x: b::B<'static>) { '{'; }", "use crate::a::*;", ""),
    ] {
        let circle = found(&[lib, ("a.rs", a), ("b.rs", b), ("c.rs", c)]);
        assert_eq!(circle.len(), 1, "{a} | {b} | {c}: {circle:?}");
    }
    for (a, b) in [
        ("use crate::b::B;", "// use crate::a::A;\nconst S: &str = \"crate::a::A\";"),
        ("use crate::b::B;", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"),
        ("use crate::b::B;", "#[cfg(test)]\nuse crate::a::A;\nfn f() {}"),
        // A name alone is no use of the module.
        ("use crate::b::B;", "use crate::a;\nfn f(a: u8) { a.b() }"),
    ] {
        let circle = found(&[lib, ("a.rs", a), ("b.rs", b), ("c.rs", "")]);
        assert_eq!(circle, Vec::<String>::new(), "{a} | {b}");
    }
    // A parent may pass on what its child has; who takes what from it is another matter.
    let child = ("a/x.rs", "use super::Y;");
    assert!(
        found(&[
            lib,
            ("b.rs", ""),
            ("c.rs", ""),
            ("a.rs", "mod x;\npub use x::X;\npub struct Y;"),
            child
        ])
        .is_empty()
    );
    let parent = ("a.rs", "mod x;\nuse x::X;\npub struct Y;");
    assert_eq!(found(&[lib, ("b.rs", ""), ("c.rs", ""), parent, child]).len(), 1);
}

// ---- (b) Anchors ---------------------------------------------------------------------------------------

/// The anchors that a file marks, in whatever comment its language has.
fn anchors(text: &str) -> Vec<&str> {
    let marked = text.lines().filter_map(|line| {
        let (before, name) = line.split_once("ANCHOR: ")?;
        let comment = ["//", "#", "--", ";", "<!--"].contains(&before.trim());
        let name = name.trim().trim_end_matches("-->").trim();
        (comment
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)))
        .then_some(name)
    });
    marked.collect()
}

/// What a page's `{{#include}}`s name: a file from the root, and an anchor. `folder` is the page's.
fn quoted(page: &str, folder: &Path) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for part in page.split("{{#include ").skip(1) {
        let named = part.split("}}").next().unwrap_or_default().trim();
        let Some((path, anchor)) = named.split_once(':') else { continue };
        let file = tidy(&folder.join(path));
        found.insert((file.to_string_lossy().replace('\\', "/"), anchor.to_owned()));
    }
    found
}

#[test]
fn every_anchor_is_quoted() {
    const CODE: [&str; 8] = [".rs", ".cu", ".cl", ".wgsl", ".cpp", ".h", ".py", ".toml"];
    let mut known = BTreeSet::new();
    for (file, text) in files("book/src", &[".md"]) {
        known.extend(quoted(&text, Path::new(&file).parent().unwrap_or(Path::new(""))));
    }
    // What an exercise quotes is relative to the page that has it.
    for (file, text) in files("chapters", &[".md"]) {
        let chapter = chapter(&file).unwrap_or_default();
        known.extend(quoted(&text, &Path::new("book/src").join(chapter)));
    }
    let mut wrong = Vec::new();
    for (file, text) in ["chapters", "tools", "src", "tests"].iter().flat_map(|f| files(f, &CODE)) {
        for anchor in anchors(&text) {
            if !known.contains(&(file.clone(), anchor.to_owned())) {
                wrong.push(format!("{file}: no page quotes `ANCHOR: {anchor}`"));
            }
        }
    }
    assert_none(wrong);
}

/// A page has a switch of machines, boxes that run something and "Ask me first"; a notebook has none of them.
#[test]
fn notebooks_speak_of_nothing_that_a_page_alone_has() {
    let words =
        "chosen above|ask me first|this box|the box on|under the title|then drag|then choose";
    let words = regex(&format!("(?i-u){words}"));
    let found = files("notebooks", &[".ipynb"]).into_iter().flat_map(|(file, text)| {
        let said = words.find_iter(&text).map(|word| format!("{file} says \"{}\"", word.as_str()));
        said.collect::<Vec<_>>()
    });
    assert_none(found.collect());
}

/// An answer of "Also asked" has some 40 words, each formula among them as one.
#[test]
fn what_is_also_asked_is_answered_in_fifty_words() {
    let page = fs::read_to_string(root().join("book/src/also-asked.md")).unwrap();
    let formula = regex(r"\$[^$]*\$");
    let long = page.split("\n### ").skip(1).filter_map(|asked| {
        let (title, answer) = asked.split_once("\n\n")?;
        let words = formula.replace_all(answer.lines().next()?, "1").split_whitespace().count();
        (words > 50).then(|| format!("{title}: {words} words"))
    });
    assert_none(long.collect());
}

#[test]
fn every_test_that_may_be_skipped_is_there() {
    let folders = ["chapters", "tools", "tests", "src"].map(|folder| files(folder, &[".rs"]));
    let code: String = folders.into_iter().flatten().map(|(_, text)| text).collect();
    let list = fs::read_to_string(root().join("tests/skips.txt")).unwrap();
    let gone = |line: &&str| {
        let name = line.rsplit([' ', ':']).next().unwrap_or_default();
        !code.contains(&format!("fn {name}()"))
    };
    assert_none(list.lines().filter(gone).map(str::to_owned).collect());
}

#[test]
fn anchors_and_quotes_are_seen() {
    let text = "fn f() {\n    // ANCHOR: inner\n    // ANCHOR_END: inner\n}\n# ANCHOR: other\nlet s = \"// ANCHOR: no\";";
    assert_eq!(anchors(text), ["inner", "other"]);
    let page =
        "```rust\n{{#include ../../../chapters/01-a/src/b.rs:inner}}\n```\n{{#include c.txt}}";
    let expected = BTreeSet::from([("chapters/01-a/src/b.rs".to_owned(), "inner".to_owned())]);
    assert_eq!(quoted(page, Path::new("book/src/01-a")), expected);
}

// ---- (c) Public items ------------------------------------------------------------------------------------

/// Public items without a use, and why they stay. The list only shrinks.
const UNUSED: [(&str, &str); 2] = [
    ("wilkinson", "the worst case of pivoting, for every path"),
    ("with_id", "lets ranks of a test meet without a file"),
];

/// What comes before the name of an item that is defined.
const DEFINES: [&str; 9] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

/// The public items of a source file: functions, types, constants. `pub(crate)` is the compiler's to judge.
fn public(code: &str) -> Vec<&str> {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| {
        let before = r#"(?:(?:const|async|unsafe|extern(?: "[^"]*")?) )*"#;
        let kind = "(?:fn|struct|enum|union|trait|type|const|static)";
        regex(&format!(r"\bpub {before}{kind} (\w+)"))
    });
    ITEM.captures_iter(code).map(|item| item.extract::<1>().1[0]).collect()
}

/// How often each word of a source file is used: not where it is defined or passed on, or its methods are.
fn used(code: &str) -> HashMap<&str, usize> {
    let mut passed_on: Vec<(usize, usize)> = Vec::new();
    for (at, _) in code.match_indices("pub use ").chain(code.match_indices("impl")) {
        let end = code[at..].find([';', '{']).map_or(code.len(), |end| at + end);
        passed_on.push((at, end));
    }
    let mut counts = HashMap::new();
    let mut before = "";
    for (at, word) in words(code) {
        let defined = DEFINES.contains(&before) && code[..at].ends_with(' ');
        if !defined && !passed_on.iter().any(|(from, to)| (*from..*to).contains(&at)) {
            *counts.entry(word).or_default() += 1;
        }
        before = word;
    }
    counts
}

/// The chapter of a file, if it is one of a chapter's.
fn chapter(file: &str) -> Option<&str> {
    file.strip_prefix("chapters/")?.split('/').next()
}

#[test]
fn every_public_item_of_a_chapter_is_used() {
    // For each word, its users: a chapter by its folder, or any other.
    let mut users: HashMap<String, BTreeSet<String>> = HashMap::new();
    let mut items = Vec::new();
    for (file, text) in
        ["chapters", "src", "tests", "tools"].iter().flat_map(|f| files(f, &[".rs"]))
    {
        // The list of what is not used is no use.
        if file.starts_with("tests/house/") {
            continue;
        }
        let own = chapter(&file).unwrap_or("-").to_owned();
        let code = code(&text, false);
        // What all chapters' tests share is for tests alone.
        if file.contains("/src/") && own != "-" && !file.ends_with("00-lab/src/testing.rs") {
            items.extend(
                public(&code).into_iter().map(|item| (own.clone(), file.clone(), item.to_owned())),
            );
        }
        // What only its own tests use is not used; what another crate's tests use is.
        let inside = file.strip_prefix(&format!("chapters/{own}/")).unwrap_or("-");
        let user = if inside.starts_with("tests/") || inside.starts_with("engine/tests/") {
            format!("tests of {own}")
        } else {
            own
        };
        for word in used(&code).into_keys() {
            users.entry(word.to_owned()).or_default().insert(user.clone());
        }
    }
    // Pages and notebooks show what they use.
    for (_, text) in [("book/src", ".md"), ("notebooks", ".ipynb"), ("chapters", ".md")]
        .iter()
        .flat_map(|(f, e)| files(f, &[e]))
    {
        for (_, word) in words(&text) {
            users.entry(word.to_owned()).or_default().insert("-".to_owned());
        }
    }
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    for (own, file, item) in &items {
        let tests = format!("tests of {own}");
        let elsewhere =
            users.get(item).is_some_and(|users| users.iter().any(|user| *user != tests));
        if elsewhere {
            continue;
        }
        match UNUSED.iter().find(|(known, _)| known == item) {
            Some((known, _)) => {
                needed.insert(*known);
            }
            None => wrong.push(format!("{file}: only its own tests use `{item}`")),
        }
    }
    let idle = UNUSED.iter().filter(|(item, _)| !needed.contains(item));
    wrong.extend(
        idle.map(|(item, _)| format!("take `{item}` out of UNUSED in tests/house/main.rs")),
    );
    assert_none(wrong);
}

#[test]
fn items_and_uses_are_seen() {
    let text = "pub fn a() {}\npub const fn b() {}\npub const C: u8 = 1;\npub struct D<T>(T);\npub(crate) fn e() {}\n\
                impl D<u8> { pub fn f(self) {} }\npub use x::g;\npub mod h;\nfn i() { a(); format!(\"{C}\"); }\n\
                #[cfg(test)]\nmod tests { fn j() { b() } }\n";
    let code = code(text, false);
    assert_eq!(public(&code), ["a", "b", "C", "D", "f"]);
    let used = used(&code);
    let uses = |word: &str| used.get(word).copied().unwrap_or(0);
    assert_eq!(["a", "b", "C", "D", "f", "g"].map(uses), [1, 0, 1, 0, 0, 0]);
}
