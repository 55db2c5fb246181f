//! Notebooks are what the pages make, and keep what their cells printed.

use bookbinder::{
    Page,
    notebook::{self, Cell, Change, Kind, Notebook, Ran},
};
use lab::testing::put;
use serde_json::{Value, json};
use std::{fs, path::Path};

const PAGE: &str = "\
# One product

A first [link](../00-lab/README.md#how-to-measure), [another](#the-inner-loop) and [one out](https://www.rust-lang.org/).
See [the records](../records.md) and ![a tile](tile.svg).

```rust,cell
let n = 2;
matmul::naive(n);
```

Text between.

## The `inner` loop {#the-inner-loop}

```rust,ignore
for i in 0..n {}
```

```rust,cell,fails
let x: u8 = 300;
```

```rust,cell
println!(\"{n}\");
```
";

fn page(path: &str, markdown: &str) -> Page {
    Page { path: path.into(), markdown: markdown.to_owned() }
}

/// A course with two crates, a page with an image, and a page without cells.
fn course() -> (tempfile::TempDir, Vec<Page>) {
    let root = tempfile::tempdir().unwrap();
    for (folder, name) in [("00-lab", "lab"), ("01-matmul", "matmul")] {
        let manifest = format!("[package]\nname = \"{name}\"\n");
        put(root.path(), &format!("chapters/{folder}/Cargo.toml"), manifest);
    }
    put(root.path(), "book/src/01-matmul/tile.svg", "<svg/>");
    let lab = "# Lab\n\n## How to measure\n\n```rust,cell\nlab::doctor();\n```\n";
    let pages = vec![
        page("README.md", "# Home\n"),
        page("00-lab/README.md", lab),
        page("01-matmul/README.md", PAGE),
        page("02-cpu-gpu/README.md", "# No cells\n\n```rust\nlet a = 1;\n```\n"),
    ];
    (root, pages)
}

fn made(root: &Path, pages: &[Page]) -> Notebook {
    let all = notebook::from_pages(root, pages).unwrap();
    assert!(all.iter().map(|(name, _)| name.as_str()).eq(["00-lab", "01-matmul"]));
    all.into_iter().find(|(name, _)| name == "01-matmul").unwrap().1
}

fn file(root: &Path) -> std::path::PathBuf {
    root.join("notebooks/01-matmul.ipynb")
}

/// Every code cell prints its own source, except one that prints nothing.
fn run(notebook: &mut Notebook) {
    for index in 0..notebook.cells.len() {
        let Cell { source, kind, .. } = &notebook.cells[index];
        if *kind != Kind::Markdown {
            let printed = json!({"output_type": "stream", "name": "stdout", "text": [source]});
            let quiet = source.starts_with("let n");
            notebook.has_run(index, if quiet { vec![] } else { vec![printed] });
        }
    }
    let [commit, date, machine] = ["80e45ff", "2026-01-31", "A CPU, 2 cores"].map(str::to_owned);
    notebook.ran = Some(Ran { commit, date, machine, seconds: Some(70) });
}

fn counts(notebook: &Notebook) -> Vec<Option<u64>> {
    let count = |cell: &Cell| match cell.kind {
        Kind::Code { count, .. } => Some(count),
        Kind::Markdown => None,
    };
    notebook.cells.iter().filter_map(count).collect()
}

fn printed(notebook: &Notebook) -> impl Iterator<Item = (&String, &Vec<Value>)> {
    notebook.cells.iter().filter_map(|cell| match &cell.kind {
        Kind::Code { outputs, .. } => Some((&cell.source, outputs)),
        Kind::Markdown => None,
    })
}

/// What pages become is in `tests/golden`.
#[test]
fn what_no_notebook_can_have_is_refused_with_its_page() {
    let (root, mut pages) = course();
    for (wrong, says) in [
        (
            "- item\n\n  ```rust,cell\n  1\n  ```\n",
            "line 5 after its quotes: a cell can't be in a list",
        ),
        ("![gone](gone.svg)\n\n```rust,cell\n1\n```\n", "gone.svg"),
        ("![a tile](tile.gif)\n\n```rust,cell\n1\n```\n", "neither SVG nor PNG"),
        ("```rust,cell\n\n```\n", "a cell of the page is empty"),
        ("<svg><g/>\n\n```rust,cell\n1\n```\n", "no `</svg>`"),
        ("<svg><text>a&nbsp;b</text></svg>\n\n```rust,cell\n1\n```\n", "`&nbsp`"),
    ] {
        pages[2].markdown = format!("# A\n\n{wrong}");
        let error = format!("{:#}", notebook::from_pages(root.path(), &pages).unwrap_err());
        assert!(error.contains("01-matmul/README.md") && error.contains(says), "{wrong}: {error}");
    }
    pages[2].markdown = "# A\n\n```rust,cell\n1\n```\n".to_owned();
    let cells = made(root.path(), &pages).code_cells().count();
    assert_eq!(cells, 1, "no crate is named, none is loaded");
}

#[test]
fn of_a_fold_around_a_cell_the_heading_stays() {
    let (root, mut pages) = course();
    let fold =
        |inside: &str| format!("<details>\n<summary>A count</summary>\n\n{inside}\n\n</details>");
    let (cell, text) = (fold("```rust,cell\n1\n```\n\nText."), fold("Two."));
    pages[2].markdown = format!("# A\n\n{cell}\n\n{text}\n");
    let notebook = made(root.path(), &pages);
    let sources: Vec<&str> = notebook.cells.iter().map(|cell| cell.source.trim()).collect();
    assert_eq!(sources, ["# A\n\n**A count**", "1", &format!("Text.\n\n\n\n{text}")]);
}

#[test]
fn ids_are_valid_unique_and_stay_when_other_cells_change() {
    let (root, mut pages) = course();
    pages[2].markdown.push_str("\n```rust,cell\nprintln!(\"{n}\");\n```\n");
    let before = made(root.path(), &pages);
    let ids: Vec<&str> = before.cells.iter().map(|cell| cell.id.as_str()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    for id in &ids {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!((1..=64).contains(&id.len()) && id.chars().all(valid), "{id}");
    }
    pages[2].markdown = pages[2]
        .markdown
        .replace("Text between.", "Other text.\n\n```rust,cell\nlet new = 1;\n```");
    let after = made(root.path(), &pages);
    for cell in &before.cells {
        let same =
            after.cells.iter().any(|other| other.id == cell.id && other.source == cell.source);
        assert!(same || cell.source == "Text between.", "{cell:?}");
    }
}

#[test]
fn a_notebook_survives_its_file() {
    let (root, mut pages) = course();
    pages[2].markdown = PAGE.replace("rust,cell\nprintln", "rust,cell,figure\nprintln");
    let mut notebook = made(root.path(), &pages);
    run(&mut notebook);
    let text = notebook.json().unwrap();
    assert_eq!(Notebook::parse(&text).unwrap(), notebook);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["nbformat"], &json["nbformat_minor"]), (&json!(4), &json!(5)));
    assert_eq!(json["metadata"]["kernelspec"]["name"], "rust");
    assert_eq!(json["metadata"]["throughput"]["machine"], "A CPU, 2 cores");
    let quiet = json["cells"].as_array().unwrap().iter().find(|cell| cell["execution_count"] == 2);
    assert_eq!(quiet.unwrap()["outputs"], json!([]), "it ran, and printed nothing");
    assert!(text.contains("\"source_hidden\": true"), "code that only draws is folded");
    assert_eq!(counts(&notebook), [Some(1), Some(2), Some(3), Some(4)]);
    assert!(text.ends_with("}\n") && text.contains("\n \"cells\""), "as Jupyter writes it");
    for broken in ["", "{}", "{\"cells\": [{\"cell_type\": \"raw\"}]}"] {
        assert!(Notebook::parse(broken).is_err(), "{broken}");
    }
}

#[test]
fn a_cell_that_runs_when_asked_has_no_count() {
    let (root, mut pages) = course();
    pages[2].markdown = PAGE.replace("cell,fails", "cell,asked");
    let mut notebook = made(root.path(), &pages);
    run(&mut notebook);
    assert_eq!(counts(&notebook), [Some(1), Some(2), None, Some(3)]);
    assert_eq!(Notebook::parse(&notebook.json().unwrap()).unwrap(), notebook);
    assert_eq!(counts(&made(root.path(), &pages)), [None; 4], "a new one has not run");
}

#[test]
fn sync_writes_only_what_changed_and_keeps_outputs() {
    let (root, mut pages) = course();
    let root = root.path();
    let changes = notebook::sync(root, &pages, false).unwrap();
    assert!(changes.iter().all(|(_, change)| matches!(change, Change::Changed(_))), "{changes:?}");
    let mut notebook = Notebook::read(&file(root)).unwrap();
    run(&mut notebook);
    notebook::write(&file(root), &notebook).unwrap();

    let before = fs::read(file(root)).unwrap();
    let modified = fs::metadata(file(root)).unwrap().modified().unwrap();
    let changes = notebook::sync(root, &pages, false).unwrap();
    assert!(changes.iter().all(|(_, change)| *change == Change::Same), "{changes:?}");
    let now = fs::metadata(file(root)).unwrap().modified().unwrap();
    assert_eq!((now, &fs::read(file(root)).unwrap()), (modified, &before), "not written again");

    pages[2].markdown = pages[2].markdown.replace("let n = 2;", "let n = 3;");
    let changes = notebook::sync(root, &pages, true).unwrap();
    assert_eq!(changes[0].1, Change::Same);
    let Change::Changed(why) = &changes[1].1 else { panic!("{changes:?}") };
    assert!(why.contains("let n = 3;"), "{why}");
    assert_eq!(fs::read(file(root)).unwrap(), before, "--check writes nothing");

    notebook::sync(root, &pages, false).unwrap();
    let mut kept = Notebook::read(&file(root)).unwrap();
    for (source, outputs) in printed(&kept) {
        let kept = vec![json!({"output_type": "stream", "name": "stdout", "text": [source]})];
        let expected = if source.contains("let n = 3;") { Vec::new() } else { kept };
        assert_eq!(*outputs, expected, "{source}");
    }
    assert_eq!(counts(&kept), [Some(1), None, Some(3), Some(4)], "the changed one has not run");
    assert_eq!(kept.ran, notebook.ran, "the outputs are still that machine's");

    let mut later = kept.clone();
    for index in 0..later.cells.len() {
        later.has_run(index, vec![json!({"output_type": "stream", "text": ["later"]})]);
    }
    "Another CPU".clone_into(&mut later.ran.as_mut().unwrap().machine);
    kept.take_missing_of(&later);
    notebook::write(&file(root), &kept).unwrap();
    let recorded = bookbinder::recorded::read(&file(root)).unwrap();
    for (source, _) in printed(&kept) {
        let html = recorded.html(source).unwrap();
        let new = source.contains("let n = 3;");
        assert_eq!((html.contains("later"), html.contains("Another CPU")), (new, new), "{html}");
    }
}

#[test]
fn sync_notices_text_order_and_leftovers() {
    let (root, pages) = course();
    let root = root.path();
    notebook::sync(root, &pages, false).unwrap();
    let same = |pages: &[Page]| {
        let changes = notebook::sync(root, pages, true).unwrap();
        changes.iter().all(|(_, change)| *change == Change::Same)
    };
    assert!(same(&pages));
    for (from, to) in [
        ("Text between.", "Text."),
        ("cell,fails", "cell"),
        ("cell,fails", "cell,asked"),
        ("cell,fails", "cell,figure"),
        ("\n```rust,cell\nprintln", "\n```rust\nprintln"),
    ] {
        let mut other = pages.clone();
        other[2].markdown = other[2].markdown.replace(from, to);
        assert_ne!(other[2].markdown, pages[2].markdown);
        assert!(!same(&other), "{from} → {to}");
    }
    let fewer: Vec<Page> = pages[..2].to_vec();
    let changes = notebook::sync(root, &fewer, true).unwrap();
    assert_eq!(changes[1], ("01-matmul".to_owned(), Change::Leftover));
    assert!(file(root).is_file());
    notebook::sync(root, &fewer, false).unwrap();
    assert!(!file(root).exists());
}

/// What a reader may have made of a notebook and beside it, each with its name.
fn of_a_reader(made: &str) -> Vec<(&'static str, String)> {
    let with = |more: &str| made.replacen("\"cells\": [", &format!("\"cells\": [{more},"), 1);
    let raw = json!({"cell_type": "raw", "id": "a", "metadata": {}, "source": "raw"}).to_string();
    let note = json!({"cell_type": "markdown", "id": "b", "metadata": {}, "source": "mine"});
    let tagged = made.replacen("raises-exception", "mine", 1);
    vec![
        ("01-matmul", made.replace("let n = 2;", "let n = 9;")),
        ("01-matmul", with(&note.to_string())),
        ("01-matmul", with(&raw)),
        ("01-matmul", tagged),
        ("01-matmul", "<<<<<<< ours".to_owned()),
        ("01-matmul", String::new()),
        ("01-matmul-Copy1", made.to_owned()),
        ("02-matmul", made.to_owned()),
        ("99-mine", with(&raw)),
        ("my notes", "{\"cells\": []}".to_owned()),
        ("Untitled", String::new()),
    ]
}

#[test]
fn what_a_reader_has_changed_or_made_is_kept() {
    let (root, mut pages) = course();
    let root = root.path();
    notebook::sync(root, &pages, false).unwrap();
    let [made, lab] = ["01-matmul", "00-lab"]
        .map(|name| fs::read_to_string(root.join(format!("notebooks/{name}.ipynb"))).unwrap());
    let text = |name: &str| fs::read_to_string(root.join(format!("notebooks/{name}.ipynb"))).ok();
    let own = pages[2].markdown.clone();
    for (name, theirs) in of_a_reader(&made) {
        // Whether the page stays, is another one, or goes.
        for markdown in [&own, &own.replace("between", "amid"), "# No cells\n"] {
            pages[2].markdown = markdown.to_owned();
            fs::write(file(root), &made).unwrap();
            fs::write(root.join(format!("notebooks/{name}.ipynb")), &theirs).unwrap();
            for check in [true, false, false] {
                notebook::sync(root, &pages, check).unwrap();
                assert_eq!(text(name).as_ref(), Some(&theirs), "{name} {markdown}");
            }
            let ours = notebook::of_the_pages(root);
            assert!(ours.iter().all(|(known, _)| known != name), "{name}: {ours:?}");
            fs::remove_file(root.join(format!("notebooks/{name}.ipynb"))).unwrap();
            pages[2].markdown.clone_from(&own);
            notebook::sync(root, &pages, false).unwrap();
        }
    }
    // What cells printed is no change, and a reader's copy of what the page makes is the reader's as well.
    let mut ran = Notebook::read(&file(root)).unwrap();
    run(&mut ran);
    notebook::write(&file(root), &ran).unwrap();
    assert_eq!(notebook::of_the_pages(root).len(), 2);
    fs::write(file(root), &lab).unwrap();
    notebook::sync(root, &pages, false).unwrap();
    assert_eq!(text("01-matmul").unwrap(), lab);
}

#[test]
fn a_reader_works_in_copies_which_follow_the_pages_until_they_are_changed() {
    let (root, mut pages) = course();
    let root = root.path();
    let copy = root.join(notebook::MINE).join("01-matmul.ipynb");
    let text = || fs::read_to_string(&copy).unwrap();
    let mut sync = |page: &str| {
        pages[2].markdown = page.to_owned();
        notebook::sync(root, &pages, false).unwrap();
    };
    sync(PAGE);
    let mut ran = Notebook::read(&file(root)).unwrap();
    run(&mut ran);
    notebook::write(&file(root), &ran).unwrap();
    assert!(notebook::bring(root, None).unwrap().is_empty());
    let json: Value = serde_json::from_str(&text()).unwrap();
    for cell in json["cells"].as_array().unwrap().iter().filter(|one| one["cell_type"] == "code") {
        assert_eq!(cell["metadata"]["jupyter"]["outputs_hidden"], true, "{cell}");
    }
    // What the reader's cells printed stays, until the page changes.
    let theirs = text().replace("80e45ff", "theirs");
    fs::write(&copy, &theirs).unwrap();
    notebook::bring(root, None).unwrap();
    assert_eq!(text(), theirs);
    sync(&PAGE.replace("between", "amid"));
    assert!(notebook::bring(root, None).unwrap().is_empty());
    assert!(text().contains("amid"));
    // What the reader has changed stays, whatever becomes of the page, unless it is to go.
    for changed in [text().replace("let n = 2;", "let n = 9;"), "<<<<<<< ours".to_owned()] {
        fs::write(&copy, &changed).unwrap();
        sync(&PAGE.replace("between", "around"));
        assert_eq!(notebook::bring(root, Some("00-lab")).unwrap(), ["01-matmul"]);
        assert_eq!(text(), changed);
        assert!(notebook::bring(root, Some("01-matmul")).unwrap().is_empty());
        assert!(text().contains("around"));
        sync(&PAGE.replace("between", "amid"));
    }
}

#[test]
fn the_start_has_the_doors_the_chapters_and_what_is_solved() {
    let (root, mut pages) = course();
    pages[0].markdown = "# Home\n\n## Three doors\n\n**One.** [a loop](01-matmul/README.md#the-inner-loop)\n\n## More\n".to_owned();
    let start = |pages: &[Page]| {
        notebook::start(root.path(), pages, |chapter| format!("Solved in {chapter}: 2 of 3."))
    };
    assert!(start(&pages).is_err(), "there is no list of chapters");
    pages.push(page(
        "how-to.md",
        "# How\n\nText.\n\n- **[1. One](01-matmul/README.md)**, 4 minutes to read.\n",
    ));
    let start = start(&pages).unwrap();
    let text: Vec<&str> = start.cells.iter().map(|cell| cell.source.as_str()).collect();
    assert_eq!(text[1], "## Three doors\n\n**One.** [a loop](01-matmul.ipynb#The-inner-loop)");
    let chapters =
        "- **[1. One](01-matmul.ipynb)**, 4 minutes to read. Solved in 01-matmul: 2 of 3.";
    assert!(text[2].contains(chapters) && text[0].contains("hidden until"), "{text:?}");
    assert_eq!(start.code_cells().count(), 0);
    // It follows what is solved, until the reader changes it.
    let file = root.path().join("my-notebooks/start.ipynb");
    let brought = |start: &Notebook| {
        notebook::bring_start(root.path(), start).unwrap();
        fs::read_to_string(&file).unwrap()
    };
    let solved = notebook::start(root.path(), &pages, |_| "Solved: 3.".to_owned()).unwrap();
    assert!(brought(&start).contains("Solved in") && brought(&solved).contains("Solved: 3."));
    let mine = brought(&solved).replace("Three doors", "My doors");
    fs::write(&file, &mine).unwrap();
    assert_eq!(brought(&start), mine);
}
