//! Nothing in the book is stale: each promise that the pages and the README make is checked here, by a test of its
//! name.
//!
//! | what a page says | where it is checked |
//! | --- | --- |
//! | quotes exist and fit a screen; keys, terms and sources exist; each source is cited | the build itself, [`the_book_builds`] |
//! | links and fragments lead somewhere, nothing is fetched from outside | [`links_lead_somewhere`] |
//! | a number is measured, or the page says "not measured yet" | [`what_is_not_measured_is_listed`] |
//! | a table has values | [`no_table_is_all_dashes`] |
//! | a number in prose comes from a record or a source | [`numbers_in_prose_are_not_typed`] |
//! | a command runs | [`commands_run`], [`commands_in_the_text_are_understood`] |
//! | a notebook is its page | [`notebooks_are_their_pages`]; those of a reader are for `sync --check --strict` in `.ci/run` |
//! | each term of the glossary is used | [`terms_are_used`] |
//! | an exercise has its test and its page | [`exercises_are_in_order`]; that it fails, its solution passes and where the two differ is `check --verify` in `.ci/run` |
//! | spelling | `tests/book/spell.mjs` in `.ci/run` |
//!
//! What the binder refuses, its own tests break one by one. What is exempt is listed with its reason in `tests/stale/`; an
//! entry that is no longer needed fails, so that the lists only shrink.

use crate::{done, read, root, said, throughput};
use bookbinder::{binder, exercises, quote::machine::is_reference, sources, typed};
use lab::testing::{Tool, need, put_set};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The files of the pages with their Markdown, by their names in the repository: what the table of contents names. A page
/// that a reader only keeps there is none of them.
fn pages() -> Vec<(String, String)> {
    let contents = read("book/src/SUMMARY.md");
    let links = contents.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let pages = links.map(|link| format!("book/src/{link}"));
    let files: BTreeSet<String> = pages.chain(["book/src/404.md".to_owned()]).collect();
    files.into_iter().map(|file| (file.clone(), read(&file))).collect()
}

/// The README, and the pages.
fn with_readme() -> impl Iterator<Item = (String, String)> {
    [("README.md".to_owned(), read("README.md"))].into_iter().chain(pages())
}

/// A list of exemptions, three parts a line with the reason last, and which of them were needed.
struct Exempt {
    file: &'static str,
    entries: Vec<(Vec<String>, bool)>,
}

impl Exempt {
    fn read(file: &'static str) -> Self {
        let text = read(file);
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let entries = lines.map(|line| {
            let parts: Vec<String> = line.split(" | ").map(|part| part.trim().to_owned()).collect();
            assert!(parts.len() == 3 && !parts[2].is_empty(), "{file}: `{line}` has no reason");
            (parts, false)
        });
        Self { file, entries: entries.collect() }
    }

    /// Whether an entry fits; `fits` gets its first two parts.
    fn has(&mut self, fits: impl Fn(&str, &str) -> bool) -> bool {
        let found = self.entries.iter_mut().find(|(parts, _)| fits(&parts[0], &parts[1]));
        found.map(|(_, needed)| *needed = true).is_some()
    }

    /// Nothing is wrong, with the list itself neither.
    fn assert_none(&self, mut wrong: Vec<String>) {
        let idle = self.entries.iter().filter(|(_, needed)| !needed);
        let idle = idle.map(|(parts, _)| parts.join(" | "));
        wrong.extend(idle.map(|entry| format!("take `{entry}` out of {}", self.file)));
        assert_none(&wrong);
    }
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The book, built once for all tests here.
fn book() -> &'static Path {
    static BOOK: OnceLock<PathBuf> = OnceLock::new();
    BOOK.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stale-book");
        done(&["book", "build", "--out", out.to_str().unwrap()], root());
        out
    })
}

#[test]
fn the_book_builds() {
    assert!(book().join("index.html").is_file());
}

#[test]
fn links_lead_somewhere() {
    done(&["book", "check", book().to_str().unwrap()], root());
}

/// The addresses that a page's script leads on to, by the anchor that was asked for.
fn led_on(html: &str) -> serde_json::Map<String, serde_json::Value> {
    let map = html.split("const fragmentMap =").nth(1).unwrap_or("{}").trim();
    let mut values = serde_json::Deserializer::from_str(map).into_iter();
    values.next().map_or_else(Default::default, |map| map.expect("a map of anchors"))
}

#[test]
fn old_addresses_lead_to_their_text() {
    let has = |page: &str, anchor: &str| {
        let html = fs::read_to_string(book().join(page)).unwrap_or_default();
        html.contains(&format!("id=\"{anchor}\""))
    };
    let mut wrong = Vec::new();
    for old in read("tests/stale/headings.txt").lines().filter(|line| !line.starts_with('#')) {
        let (page, anchor) = old.split_once('#').unwrap();
        let leads = led_on(&fs::read_to_string(book().join(page)).unwrap());
        let Some(to) = leads.get(&format!("#{anchor}")).and_then(|to| to.as_str()) else {
            if !has(page, anchor) {
                wrong.push(format!("{old} leads nowhere; see [output.html.redirect] in book.toml"));
            }
            continue;
        };
        let (file, anchor) = to.split_once('#').unwrap_or((to, ""));
        let target = Path::new(page).with_file_name(file);
        let there = book().join(&target).is_file();
        if !there || !(anchor.is_empty() || has(target.to_str().unwrap(), anchor)) {
            wrong.push(format!("{old} leads to {to}, which is not there"));
        }
    }
    assert_none(&wrong);
}

#[test]
fn notebooks_are_their_pages() {
    done(&["notebooks", "sync", "--check"], root());
}

/// What a page shows in place of a number: the machine, the key, and why.
fn unmeasured(html: &str) -> Vec<(String, String, String)> {
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from)?;
        rest.split_once(to).map(|(part, _)| part.to_owned())
    };
    let mut found = Vec::new();
    for (at, _) in html.match_indices("class=\"unmeasured\"") {
        let rest = &html[at..];
        let text = between(rest, ">", "<").unwrap_or_default();
        // A number names both in its title; a figure or a table says its machine, and its key comes before it.
        let named = between(rest.split('>').next().unwrap_or(""), "title=\"", "\"");
        let named = named.as_deref().and_then(|title| title.rsplit_once(" on "));
        if let Some((key, machine)) = named {
            found.push((machine.to_owned(), key.to_owned(), text));
            continue;
        }
        let (machine, why) =
            text.strip_prefix("On ").and_then(|rest| rest.split_once(": ")).unwrap_or(("", &text));
        let ids = ["id=\"figure-", "id=\"table-"];
        let from = ids.iter().filter_map(|id| html[..at].rfind(id)).max();
        let key = from.and_then(|from| between(&html[from..], "id=\"", "\"")).unwrap_or_default();
        found.push((machine.to_owned(), key, why.to_owned()));
    }
    found
}

/// The reference machines. What contributors send may have gaps.
fn references() -> Vec<String> {
    let records = binder::records(&root().join("book/records")).unwrap();
    records.into_iter().filter(is_reference).map(|records| records.name).collect()
}

/// A page with what lies beside it for other machines than the first, each in its quote.
fn with_all_machines(page: &Path) -> String {
    let mut html = read(page);
    let name = page.strip_prefix(book()).unwrap().with_extension("");
    let name = format!("{}.js", name.to_string_lossy().replace(['/', '\\'], "-"));
    for machine in references() {
        let file = book().join("records").join(machine).join("pages").join(&name);
        let Ok(script) = fs::read_to_string(file) else { continue };
        let pieces = script.split_once(',').unwrap().1.trim_end().trim_end_matches(");");
        let pieces: Vec<(usize, String)> = serde_json::from_str(pieces).unwrap();
        // From the last one on, so that the numbers of the others hold.
        for (quote, piece) in pieces.into_iter().rev() {
            let (at, _) = html.match_indices(" data-quote").nth(quote).unwrap();
            let inside = at + html[at..].find('>').unwrap() + 1;
            html.insert_str(inside, &piece);
        }
    }
    html
}

#[test]
fn what_is_not_measured_is_listed() {
    let machines = references();
    assert!(!machines.is_empty(), "no reference machine has records");
    let mut exempt = Exempt::read("tests/stale/not-measured.txt");
    let mut wrong = Vec::new();
    let folders = fs::read_dir(book()).unwrap().flatten().map(|entry| entry.path());
    let chapters = folders.filter(|folder| folder.is_dir() && !folder.ends_with("records"));
    let pages = chapters.flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    for page in pages.map(|entry| entry.path()) {
        // A chapter for paper has its pages once more.
        if page.extension().is_none_or(|ext| ext != "html") || page.ends_with("print.html") {
            continue;
        }
        let html = with_all_machines(&page);
        let odd = ["<data value=\"NaN\"", "></data>"].iter().find(|odd| html.contains(**odd));
        assert!(odd.is_none(), "{}: {odd:?}", page.display());
        for (machine, key, why) in unmeasured(&html) {
            // "not measured: this CPU has no AMX" is an answer.
            if machines.contains(&machine)
                && !why.starts_with("not measured: ")
                && !exempt.has(|known, on| {
                    let begins = |start: &str| key.starts_with(start);
                    (known == key || known.strip_suffix('…').is_some_and(begins)) && on == machine
                })
            {
                wrong.push(format!("{}: `{key}` on {machine}: {why}", page.display()));
            }
        }
    }
    exempt.assert_none(wrong);
}

/// Where a machine has no value of a table, one that has them stands in.
#[test]
fn no_table_is_all_dashes() {
    let text = read(book().join("throughput.markdown"));
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches(['>', ' '])).collect();
    let tables = lines.chunk_by(|a, b| a.starts_with('|') && b.starts_with('|'));
    let dash = |cell: &str| matches!(cell.trim(), "–" | "");
    let dashes = |row: &&str| row.contains('–') && row.split('|').skip(2).all(dash);
    let empty = tables.filter(|table| table.len() > 2 && table[2..].iter().all(dashes));
    assert_none(&empty.map(|table| table.join("\n")).collect::<Vec<_>>());
}

#[test]
fn numbers_in_prose_are_not_typed() {
    let mut exempt = Exempt::read("tests/stale/typed-numbers.txt");
    let mut wrong = Vec::new();
    for (file, text) in pages() {
        for found in typed::numbers(&text) {
            if !exempt.has(|page, part| file.contains(page) && found.sentence.contains(part)) {
                wrong.push(format!(
                    "{file}:{found}: take it from a record, cite its source, or say in tests/stale/typed-numbers.txt why it stays"
                ));
            }
        }
    }
    exempt.assert_none(wrong);
}

#[test]
fn terms_are_used() {
    let glossary = sources::glossary(&root().join("book/src/glossary.md")).unwrap();
    let others = pages().into_iter().filter(|(file, _)| !file.ends_with("glossary.md"));
    let mut text: String = others.map(|(_, page)| page).collect();
    for exercise in exercises::all(root()).unwrap() {
        let readme = exercise.readme;
        text.push_str(&(readme.task + &readme.hints.concat() + &readme.solution));
    }
    let lower = text.to_lowercase();
    let idle = glossary.iter().filter(|(key, term)| {
        let linked = [' ', '}'].iter().any(|end| text.contains(&format!("{{{{#term {key}{end}")));
        !linked && !lower.contains(&term.name.to_lowercase())
    });
    let idle: Vec<String> =
        idle.map(|(_, term)| format!("no page uses the term \"{}\"", term.name)).collect();
    assert_none(&idle);
}

#[test]
fn exercises_are_in_order() {
    let all = exercises::all(root()).unwrap();
    assert!(all.len() >= 40, "there are {} exercises", all.len());
    let mut wrong = Vec::new();
    // One on no page may be the reader's.
    for exercise in all.iter().filter(|exercise| exercise.on_page) {
        if let Err(error) = exercise.in_order() {
            wrong.push(format!("{}: {error:#}", exercise.id()));
        }
    }
    assert_none(&wrong);
}

/// The commands in the fences of a page, a line each. In a fence with a prompt the other lines are output.
fn commands(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<Vec<&str>> = None;
    for line in markdown.lines() {
        // A fence may be in a quotation.
        let line = line.trim_start_matches(['>', ' ']).trim_end();
        match &mut fence {
            Some(lines) if line.starts_with("```") => {
                let prompt = lines.iter().any(|line| line.starts_with("$ "));
                for line in std::mem::take(lines) {
                    let command = line.strip_prefix("$ ").or((!prompt).then_some(line));
                    let command = command.and_then(|line| line.split(" #").next()).unwrap_or("");
                    if !command.trim().is_empty() {
                        found.push(command.trim().to_owned());
                    }
                }
                fence = None;
            }
            Some(lines) => lines.push(line),
            None if ["```console", "```sh", "```bash"].contains(&line) => fence = Some(Vec::new()),
            None => {}
        }
    }
    found
}

/// Why a command is none, if it is none: cargo would not know it, or the course's command would refuse it.
pub fn no_command(command: &str) -> Option<String> {
    unknown_to_cargo(command).or_else(|| refused(&own_words(command)?))
}

/// The words behind `cargo run … --`, or behind the built program; `None` if it is another command.
fn own_words(command: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = command.split_whitespace().filter(|word| *word != "…").collect();
    if let Some(at) = words.iter().position(|word| *word == "target/debug/throughput") {
        return Some(words[at + 1..].to_vec());
    }
    if words[..words.len().min(2)] != ["cargo", "run"] || words.contains(&"--example") {
        return None;
    }
    Some(words.into_iter().skip_while(|word| *word != "--").skip(1).collect())
}

/// Why the course's command would refuse these words, if it would. Nothing is run.
fn refused(words: &[&str]) -> Option<String> {
    let asked = throughput(&[words, &["--help"]].concat(), root());
    (!asked.status.success()).then(|| said(&asked))
}

/// Why cargo would not know the packages, features and tests that a command names, if it would not.
fn unknown_to_cargo(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().take_while(|word| *word != "--").collect();
    let manifests: Vec<String> = fs::read_dir(root().join("chapters"))
        .unwrap()
        .flatten()
        .map(|folder| folder.path().join("Cargo.toml"))
        .chain([root().join("Cargo.toml"), root().join("tools/bookbinder/Cargo.toml")])
        .map(read)
        .collect();
    let mut manifest = read("Cargo.toml");
    for pair in words.windows(2) {
        if let ["-p", package] = pair {
            let name = format!("name = \"{package}\"");
            match manifests.iter().find(|text| text.contains(&name)) {
                Some(text) => manifest.clone_from(text),
                None => return Some(format!("there is no package `{package}`")),
            }
        }
    }
    for pair in words.windows(2) {
        let known = match pair {
            ["--features", feature] => manifest.contains(&format!("\n{feature} = [")),
            ["--test", test] => {
                manifest.contains(&format!("name = \"{test}\""))
                    || root().join(format!("tests/{test}.rs")).is_file()
                    || root().join(format!("tests/{test}/main.rs")).is_file()
            }
            _ => true,
        };
        if !known {
            return Some(format!("the package has no `{}`", pair.join(" ")));
        }
    }
    None
}

/// A folder as a reader's: a few drawn digits as data, and an image.
fn desk(opencl: bool) -> PathBuf {
    let name = if opencl { "stale-desk-opencl" } else { "stale-desk" };
    let desk = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&desk);
    let set = lab::data::drawn(250, 64, 3);
    put_set(&desk.join("data"), &set.train, &set.test);
    // The command knows images by what they hold, and MNIST's own form is one of them.
    let one = lab::data::idx::write_images(set.test.image(0), 28, 28);
    fs::write(desk.join("my-seven.png"), one).unwrap();
    desk
}

#[test]
fn commands_run() {
    run_commands(false);
}

#[test]
fn commands_run_behind_opencl() {
    if need(Tool::OpenCl, cpu_gpu::gpu::open("opencl-cpu")).is_some() {
        run_commands(true);
    }
}

/// Runs the commands that name OpenCL's device, or all others.
fn run_commands(opencl: bool) {
    let mut exempt = Exempt::read("tests/stale/commands.txt");
    let desk = desk(opencl);
    let data = desk.join("data").to_string_lossy().into_owned();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, text) in with_readme() {
        for command in commands(&text) {
            let own = own_words(&command);
            if let Some(why) = unknown_to_cargo(&command) {
                wrong.push(format!("{file}: `{command}`: {why}"));
            }
            let fits = |known: &str| match known.strip_suffix(" …") {
                Some(start) => command.starts_with(start),
                None => command == known,
            };
            if exempt.has(|known, _| fits(known)) {
                if let Some(why) = own.as_deref().and_then(refused) {
                    wrong.push(format!("{file}: `{command}`: {why}"));
                }
                continue;
            }
            let Some(words) = own else {
                wrong.push(format!("{file}: `{command}` is no command of the course; say in tests/stale/commands.txt why it is not run"));
                continue;
            };
            if command.contains("opencl-cpu") != opencl || !seen.insert(command.clone()) {
                continue;
            }
            // The page says of this one that it stops and gives advice; the next should not go on with it.
            let stops = command.ends_with("--lr 1000");
            let folder = if stops { desk.join("data") } else { desk.clone() };
            let ran = throughput(&[&words[..], &["--data", &data]].concat(), &folder);
            if ran.status.success() == stops {
                wrong.push(format!("{file}: `{command}`: {}", said(&ran)));
            }
        }
    }
    exempt.assert_none(wrong);
    assert!(seen.len() > 5 || opencl && !seen.is_empty(), "only {seen:?} were run");
}

#[test]
fn commands_in_the_text_are_understood() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (file, text) in with_readme() {
        for command in
            text.split('`').filter(|part| part.starts_with("cargo ") && !part.contains('\n'))
        {
            count += 1;
            let why = no_command(command);
            wrong.extend(why.map(|why| format!("{file}: `{command}`: {why}")));
        }
    }
    assert_none(&wrong);
    assert!(count > 10);
}

#[test]
fn what_is_no_command_is_seen() {
    let page = "```console\ncargo run -- doctor   # quick\n```\n\n> ```sh\n> $ cargo run -- plan\n> planned\n> ```\n";
    let all = commands(page);
    assert_eq!(all, ["cargo run -- doctor", "cargo run -- plan"]);
    assert!(all.iter().all(|command| no_command(command).is_none()));
    for (command, says) in [
        ("cargo run -- doctor --loudly", "--loudly"),
        ("cargo run -- paint", "paint"),
        ("cargo test -p paint", "no package `paint`"),
        ("cargo build --features paint", "--features paint"),
    ] {
        let why = no_command(command).unwrap_or_default();
        assert!(why.contains(says), "{command}: {why}");
    }
}

#[test]
fn what_is_not_measured_is_seen() {
    let html = "<span class=\"measured\"></span><span class=\"unmeasured\" data-machine=\"a\" hidden title=\"x.y n=1 on \
        a\">not measured yet</span><div class=\"figure\" id=\"figure-x-z\"><figure data-machine=\"b\"><p \
        class=\"unmeasured\">On b: not measured: no GPU.</p>";
    let owned = |parts: [&str; 3]| parts.map(str::to_owned).into();
    let expected: [(String, String, String); 2] = [
        owned(["a", "x.y n=1", "not measured yet"]),
        owned(["b", "figure-x-z", "not measured: no GPU."]),
    ];
    assert_eq!(unmeasured(html), expected);
}
