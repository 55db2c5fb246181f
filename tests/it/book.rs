//! The command `book`. That the book itself is whole and up to date is in `stale.rs`.

use crate::{command, read, root};
use bookbinder::sources;
use lab::testing::{ask, rest, soon};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
};

/// The build checks that every source is cited and every citation resolves; this checks the form of the file.
#[test]
fn the_bibliography_has_each_source_once_with_its_address_and_in_order() {
    // Two manuals that their maker offers at one address; notebooks that are no longer offered anywhere.
    const SHARED: [&str; 3] = ["amx", "amx-opt", "vdpbf16ps"];
    const NOWHERE: [&str; 1] = ["dli"];
    let file = root().join("book/src").join(sources::BIBLIOGRAPHY);
    let (all, text) = (sources::bibliography(&file).unwrap(), read(&file));
    let keys: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("[^")?.split_once("]:")?.0))
        .collect();
    assert_eq!(keys, sources::by_author(&all), "sources are in the order of their authors");
    let mut addresses: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, entry) in all.iter().filter(|(key, _)| !NOWHERE.contains(&key.as_str())) {
        let (_, address) = entry.rsplit_once(" <").unwrap_or_else(|| panic!("{key}: {entry}"));
        let address =
            address.strip_suffix('>').unwrap_or_else(|| panic!("{key} ends with `<address>`"));
        assert!(address.starts_with("https://"), "{key}: {address}");
        let other = addresses.insert(address, key);
        let known = SHARED.contains(&key.as_str());
        assert!(other.is_none() || known, "{key} and {} are one source", other.unwrap_or_default());
    }
}

#[test]
fn the_glossary_is_in_order() {
    let file = root().join("book/src").join(sources::GLOSSARY);
    let text = read(&file);
    let lines: Vec<&str> = text.lines().collect();
    let terms: Vec<String> = lines
        .windows(2)
        .filter(|pair| pair[1].starts_with(": "))
        .map(|pair| pair[0].to_lowercase())
        .collect();
    assert_eq!(terms.len(), sources::glossary(&file).unwrap().len());
    assert!(terms.is_sorted(), "{:?}", terms.windows(2).find(|pair| pair[0] > pair[1]));
}

/// Two drawings of the chapters stand in pages as they are: the route and what builds on what.
#[test]
fn drawings_of_the_chapters_are_up_to_date() {
    let (route, needs) = (read("book/src/README.md"), read("book/src/how-to.md"));
    let contents = read("book/src/SUMMARY.md");
    let links =
        contents.lines().filter_map(|line| line.strip_prefix("- [")?.split_once("](")?.into());
    let chapters: Vec<(&str, &str, &str)> = links
        .filter_map(|(title, link): (&str, &str)| {
            let (number, title) = title.split_once(". ")?;
            Some((number, title, link.strip_suffix("/README.md)")?))
        })
        .collect();
    let (mut builds_on, mut arrows) = (BTreeMap::<&str, BTreeSet<&str>>::new(), 0);
    for (number, title, folder) in &chapters {
        let address = format!("<a\nhref=\"{folder}/index.html\">");
        assert!(route.contains(&format!("{address}<b>{number}</b> {title}</a></li>")), "{folder}");
        let (_, words) =
            needs.split_once(&format!("{address}Chapter {number}, {title}</a>: ")).expect(folder);
        let words = words.split("</li>").next().unwrap();
        let shown = format!("{address}<title>Chapter {number}, {title}: {words}</title>");
        assert!(needs.contains(&shown), "{shown}");
        let direct: BTreeSet<&str> = words
            .trim_start_matches("it builds on ")
            .split(" and ")
            .filter(|one| *one != "no other")
            .collect();
        let below = direct.iter().flat_map(|other| builds_on[other].iter().copied());
        let all: BTreeSet<&str> = below.chain(direct.iter().copied()).collect();
        let manifest = read(format!("chapters/{folder}/Cargo.toml"));
        let used = manifest.split("\n[dependencies]").nth(1).unwrap_or_default();
        let used = used.split("\n[").next().unwrap();
        for (other, _, folder) in &chapters {
            let name = folder.split_once('-').unwrap().1.replace('-', "_");
            let uses = [".", " ="].iter().any(|end| used.contains(&format!("\n{name}{end}")));
            let told = if uses { all.contains(other) } else { !direct.contains(other) };
            assert!(told, "{number}: {name}");
        }
        builds_on.insert(number, all);
        arrows += direct.len();
    }
    assert_eq!(needs.matches("class=\"need\"").count(), arrows);
}

#[test]
fn the_order_of_the_machines_names_those_that_have_records() {
    let records = root().join("book/records");
    let order = read("book/records/machines.txt");
    let machines: Vec<&str> = order.lines().collect();
    assert!(!machines.is_empty());
    for machine in &machines {
        let folder = records.join(machine);
        assert!(folder.join("machine.json").is_file(), "{machine} is no machine");
        assert!(folder.read_dir().unwrap().count() > 1, "{machine} has no records");
    }
    let distinct: BTreeSet<&&str> = machines.iter().collect();
    assert_eq!(distinct.len(), machines.len(), "each is there once");
}

/// Numbers of a changed tree, of a build that is not optimised or of a quick look cannot be had again by who checks them.
#[test]
fn records_come_from_a_clean_commit_and_a_full_run() {
    // Machine and experiment. To be measured anew; the list only shrinks.
    const OLD: [(&str, &str); 2] =
        [("cascadelake-2core", "language_model.cost"), ("epyc-2core", "training.models")];
    let (mut wrong, mut old) = (Vec::new(), BTreeSet::new());
    for name in read("book/records/machines.txt").lines() {
        let machine = lab::Records::load(&root().join("book/records").join(name)).unwrap();
        for run in machine.chapters.values().flat_map(|chapter| &chapter.runs) {
            let clean = run.commit.len() >= 7 && run.commit.chars().all(|c| c.is_ascii_hexdigit());
            if clean && run.budget == "full" && !lab::machine::is_unoptimised(&run.flags) {
                continue;
            }
            let known = OLD.iter().find(|old| **old == (name, run.experiment.as_str()));
            match known {
                Some(known) => drop(old.insert(*known)),
                None => wrong.push(format!("{name}, {}: {run:?}", run.experiment)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(old.len(), OLD.len(), "take what was measured anew out of the list");
}

/// A program that ends with the test, however that ends.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the command so that it serves: it, and the address that its first line names. No one reads its further ones.
pub(crate) fn serving(words: &[&str]) -> (Ended, String) {
    let mut server = Ended(command(words, root()).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).and_then(|rest| rest.split([';', '/', ' ']).next());
    let address = address.unwrap_or_else(|| panic!("no address in: {line}")).to_owned();
    (server, address)
}

/// `book serve | head -1`
#[test]
fn a_server_whose_output_is_not_read_goes_on() {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR")).join("served");
    let _ = fs::remove_dir_all(&tmp);
    let records = tmp.join("records");
    fs::create_dir_all(&records).unwrap();
    let (from, out) = (records.to_str().unwrap(), tmp.join("book"));
    let out = out.to_str().unwrap();
    let (mut server, address) =
        serving(&["book", "serve", "--port", "0", "--records", from, "--out", out]);
    let version = || {
        let answer = rest(ask(&address, "GET /__version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
        answer.rsplit("\r\n").next().map(str::to_owned)
    };
    assert_eq!(version().as_deref(), Some("0"));
    fs::write(records.join("note.txt"), "something changed").unwrap();
    // Its message goes nowhere.
    soon("it serves the new book", || {
        assert!(server.0.try_wait().unwrap().is_none(), "the server has ended");
        version().as_deref() == Some("1")
    });
}
