//! The command `book`. That the book itself is whole and up to date is in `stale.rs`.

use bookbinder::sources;
use std::{collections::BTreeMap, path::Path, process::Command};

#[test]
fn the_book_builds_and_its_links_lead_somewhere() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    for arguments in [&["book", "build", "--out"], &["book", "check"][..]] {
        let ran = Command::new(env!("CARGO_BIN_EXE_throughput"))
            .args(arguments)
            .arg(&out)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

/// The build holds that every source is cited and every citation resolves; this holds the form of the file.
#[test]
fn the_bibliography_has_each_source_once_with_its_address_and_in_order() {
    // Two manuals that their maker offers at one address; notebooks that are no longer offered anywhere.
    const TWO_AT_ONE_ADDRESS: [&str; 2] = ["amx", "amx-opt"];
    const NOWHERE: [&str; 1] = ["dli"];
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src").join(sources::BIBLIOGRAPHY);
    let all = sources::bibliography(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let keys: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("[^")?.split_once("]:")?.0))
        .collect();
    assert_eq!(keys, sources::by_author(&all), "sources stand in the order of their authors");
    let mut addresses: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, entry) in all.iter().filter(|(key, _)| !NOWHERE.contains(&key.as_str())) {
        let (_, address) = entry.rsplit_once(" <").unwrap_or_else(|| panic!("{key}: {entry}"));
        let address =
            address.strip_suffix('>').unwrap_or_else(|| panic!("{key} ends with `<address>`"));
        assert!(address.starts_with("https://"), "{key}: {address}");
        let other = addresses.insert(address, key);
        let known = TWO_AT_ONE_ADDRESS.contains(&key.as_str());
        assert!(other.is_none() || known, "{key} and {} are one source", other.unwrap_or_default());
    }
}

#[test]
fn the_glossary_is_in_order() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src").join(sources::GLOSSARY);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let terms: Vec<String> = lines
        .windows(2)
        .filter(|pair| pair[1].starts_with(": "))
        .map(|pair| pair[0].to_lowercase())
        .collect();
    assert_eq!(terms.len(), sources::glossary(&file).unwrap().len());
    assert!(terms.is_sorted(), "{:?}", terms.windows(2).find(|pair| pair[0] > pair[1]));
}

#[test]
fn a_folder_that_is_no_book_is_left_alone() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-a-book");
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("thesis.txt"), "years of work").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_throughput"))
        .args(["book", "build", "--out"])
        .arg(&out)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(!ran.status.success());
    assert!(String::from_utf8_lossy(&ran.stderr).contains("is not a book"));
    assert!(out.join("thesis.txt").is_file());
}

#[test]
fn the_order_of_the_machines_names_those_that_have_records() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/records");
    let order = std::fs::read_to_string(records.join("machines.txt")).unwrap();
    let machines: Vec<&str> = order.lines().collect();
    assert!(!machines.is_empty());
    for machine in &machines {
        let folder = records.join(machine);
        assert!(folder.join("machine.json").is_file(), "{machine} is no machine");
        assert!(folder.read_dir().unwrap().count() > 1, "{machine} has no records");
    }
    let distinct: std::collections::BTreeSet<&&str> = machines.iter().collect();
    assert_eq!(distinct.len(), machines.len(), "each stands there once");
}
