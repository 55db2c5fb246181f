//! The fixture's book: built whole, in both flavours, and refused for each kind of error.
//!
//! `FIXTURE_BOOK=DIR cargo test -p bookbinder --test it whole` leaves the book in DIR, for the browser.

use crate::golden;
use bookbinder::{Binder, links, notebook, page::of_chapter};
use lab::{
    Chapter, Drawing, Error, Figure, Key, Records, Samples, Table, TableData, Unit,
    machine::Machine,
    record::{self, CONTRIBUTED, Limit, Params, Run},
    testing::{self, copy, names, put},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What the command puts into the book for <digit-canvas>: here a script that says that there is no model.
const MODEL: &str = "04-training/digit-model-8.js";

/// A copy of the fixture with the book's theme, chapter 2's kernels for the browser, and two machines'
/// records.
struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy(&here.join("tests/fixture"), folder.path());
        copy(&here.join("../../book/theme"), &folder.path().join("book/theme"));
        let kernels = folder.path().join("chapters/09-demo/kernels");
        copy(&here.join("../../chapters/02-cpu-gpu/kernels"), &kernels);
        let fixture = Self { folder };
        fixture.record("small", "EPYC", false);
        fixture.record("large", "Xeon", true);
        fs::write(fixture.records().join("machines.txt"), "small\nlarge\n").unwrap();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn records(&self) -> PathBuf {
        self.path("book/records")
    }

    /// A record whose numbers are made up: `amx` also has n = 128.
    fn record(&self, name: &str, cpu: &str, amx: bool) {
        let machine = Machine { cpu: cpu.to_owned(), cores: 2, ..Machine::default() };
        let rate = |n: u32, rates: &[f64]| {
            let peak = Limit { name: "the peak".to_owned(), value: 2e11 };
            RATE.at(&[("n", &n)]).against(peak).value(Samples(rates.to_vec()))
        };
        let scale = if amx { 2.0 } else { 1.0 };
        let mut values = vec![rate(64, &[1e11 * scale, 1.2e11 * scale, 1.1e11 * scale])];
        let mut skipped = Vec::new();
        if amx {
            values.push(rate(128, &[3e12]));
        } else {
            skipped.push(RATE.at(&[("n", &128)]).skipped("this CPU has no AMX"));
        }
        let run = Run {
            experiment: "demo.rate".to_owned(),
            command: "cargo run -- measure demo".to_owned(),
            date: "2026-01-02T03:04:05Z".to_owned(),
            commit: "0123abc".to_owned(),
            budget: "full".to_owned(),
            rustc: "rustc 1.95.0".to_owned(),
            flags: "release".to_owned(),
            values,
            skipped,
            ..Run::default()
        };
        record::save(&self.records().join(name), &machine, "demo", run).unwrap();
    }

    fn binder(&self) -> Binder {
        let mut binder = Binder::open(self.folder.path(), vec![demo()], &self.records()).unwrap();
        binder.files.push((MODEL.into(), "globalThis.digitModel = null;".to_owned()));
        binder
    }

    /// Puts `text` at the end of the chapter's page.
    fn append(&self, text: &str) {
        let page = self.path("book/src/09-demo/README.md");
        let old = fs::read_to_string(&page).unwrap();
        fs::write(page, format!("{old}\n{text}\n")).unwrap();
    }

    /// The error of a build, which must not leave anything behind.
    fn error(&self) -> String {
        let error = format!("{:#}", self.binder().build().unwrap_err());
        assert_eq!(names(&self.path("target")), Vec::<String>::new());
        error
    }

    /// That no link of the book leads nowhere.
    fn is_whole(&self) {
        assert_eq!(links::check(&self.path("target/book")).unwrap(), Vec::<String>::new());
    }

    fn page(&self, name: &str) -> String {
        fs::read_to_string(self.path("target/book").join(name)).unwrap()
    }
}

const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["n"]);

fn demo() -> Chapter {
    fn draw(records: &Records) -> lab::Result<Drawing> {
        let rate = records.get(RATE.at(&[("n", &64)]))?;
        let svg = format!(
            "<svg viewBox=\"0 0 720 200\">\n\n<rect id=\"bar\" x=\"10\" y=\"20\" width=\"{}\" height=\"60\" \
             fill=\"var(--series-1)\"/>\n<text x=\"10\" y=\"120\" fill=\"currentColor\">rate (GFLOP/s)</text>\
             \n</svg>",
            rate.median / 1e9
        );
        let caption = format!("It reaches {} | more than *before*.", rate.text());
        Ok(Drawing { svg, caption, alt: "One \"bar\".".to_owned(), ..Drawing::default() })
    }
    fn make(records: &Records) -> lab::Result<TableData> {
        let rates = records.all("demo.rate", &Params::new());
        if rates.is_empty() {
            return Err(Error::NotMeasured { what: "demo.rate".into(), chapter: "demo".into() });
        }
        Ok(TableData {
            caption: "The rates.".to_owned(),
            head: vec!["n".to_owned(), "rate".to_owned()],
            rows: rates.iter().map(|rate| vec![rate.params["n"].clone(), rate.text()]).collect(),
        })
    }
    Chapter {
        figures: vec![Figure { key: "demo.rates", draw }],
        tables: vec![Table { key: "demo.rates", make }],
        ..testing::demo("demo.rate", &[RATE])
    }
}

#[test]
fn the_book_is_whole() {
    let fixture = Fixture::new();
    fixture.record(&format!("{CONTRIBUTED}/amber"), "Ryzen", true);
    let index = fixture.binder().build().unwrap();
    assert!(index.is_file() && index.ends_with("target/book/index.html"));
    fixture.is_whole();
    let kept = |name: &str| fixture.path("target/book").join(name).is_file();
    assert!(kept("notebooks/09-demo.ipynb") && kept("records/small/demo.json"));
    for script in fs::read_dir(fixture.path("book/theme")).unwrap().flatten() {
        let name = Path::new("theme").join(script.file_name());
        let script = name.extension().is_some_and(|extension| extension == "js");
        assert!(!script || fixture.path("target/book").join(&name).is_file(), "{name:?}");
    }
    let (home, page) = (fixture.page("index.html"), fixture.page("09-demo/index.html"));
    let paper = fixture.page("09-demo/print.html");
    for part in ["id=\"more-a-prediction\"", "id=\"index-the-table\"", "href=\"#index-the-table\""]
    {
        assert!(paper.contains(part), "a chapter for paper has {part}: {paper}");
    }
    assert!(paper.contains("window.print") && page.contains("href=\"print.html\""));
    let whole = fixture.page("throughput.markdown");
    assert!(
        whole.contains("\n## More\n") && whole.contains("*Drawn here: One &quot;bar&quot;.*"),
        "{whole}"
    );
    assert!(page.contains("href=\"../fonts/maths.css\""), "formulas have their font");
    assert!(!home.contains("maths.css") && fixture.page("fonts/maths.css").contains("base64"));
    // Once more, it is the same, and nothing else is left.
    fs::write(fixture.path("target/book/stale.html"), "old").unwrap();
    fixture.binder().build().unwrap();
    assert_eq!(fixture.page("09-demo/index.html"), page);
    assert!(!kept("stale.html"));
    assert_eq!(fixture.page(MODEL), "globalThis.digitModel = null;");
    if let Some(keep) = std::env::var_os("FIXTURE_BOOK") {
        copy(&fixture.path("target/book"), Path::new(&keep));
    }
}

/// What stands on a page, an element a line.
fn main_of(page: &str) -> String {
    let (_, main) = page.split_once("<main").unwrap();
    let main = main.split("</main>").next().unwrap().replace("><", ">\n<");
    main.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn pages_and_notebooks_are_the_golden_ones() {
    let fixture = Fixture::new();
    fixture.record(&format!("{CONTRIBUTED}/amber"), "Ryzen", false);
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for part in ["book", "notebooks"] {
        copy(&here.join(part), &fixture.path(part));
    }
    fs::copy(here.join("text.md"), fixture.path("text.md")).unwrap();
    let kernel = fs::read_to_string(here.join("kernel.txt")).unwrap();
    let kernels = fixture.path("chapters/09-demo/kernels");
    fs::remove_dir_all(&kernels).unwrap();
    fs::create_dir(&kernels).unwrap();
    for name in ["naive", "coalesced", "shared", "tile2d"] {
        fs::write(kernels.join(format!("{name}.wgsl")), kernel.replace("name", name)).unwrap();
    }
    fixture.binder().build().unwrap();
    fixture.is_whole();
    for name in [
        "index",
        "lists",
        "glossary",
        "bibliography",
        "09-demo/index",
        "09-demo/gpu",
        "11-parts/index",
        "11-parts/one",
        "11-parts/two",
        "records/large",
        "records/amber",
    ] {
        let made = main_of(&fixture.page(&format!("{name}.html")));
        golden(&format!("{}.html", name.replace('/', "-")), &made);
    }
    // What one machine has stands in for another that lacks it, and comes with it.
    for machine in ["large", "amber"] {
        let made = fixture.page(&format!("records/{machine}/pages/09-demo-index.js"));
        golden(&format!("beside-{machine}.txt"), &made.replace("],[", "],\n["));
    }
    golden("terms.txt", &fixture.page("theme/terms.js"));
    // Old addresses lead on to sections; one of the opener's own stays.
    let opener = fixture.page("11-parts/index.html");
    let moved = opener.lines().find(|line| line.contains("\"#once-here\":")).unwrap();
    golden("moved.txt", &moved.trim().replace(',', ",\n"));
    let pages = fixture.binder().pages().unwrap();
    for page in pages.iter().filter(|page| of_chapter(&page.path)) {
        let name = page.path.display().to_string().replace('/', "-");
        golden(&name, &page.markdown);
    }
    for (name, notebook) in notebook::from_pages(fixture.folder.path(), &pages).unwrap() {
        golden(&format!("{name}.json"), &notebook.json().unwrap());
    }
}

#[test]
fn pages_lead_to_the_repository_and_openers_to_their_pdf() {
    let fixture = Fixture::new();
    fixture.binder().build().unwrap();
    assert!(!fixture.page("index.html").contains("repository-link"));
    assert!(!fixture.page("09-demo/index.html").contains("pdf-link"));
    let mut binder = fixture.binder();
    binder.repository = Some("https://example.org/course".to_owned());
    binder.pdfs = true;
    binder.build().unwrap();
    let home = fixture.page("index.html");
    let link = "<a class=\"repository-link\" href=\"https://example.org/course\">";
    assert!(home.contains(link), "{home}");
    for page in ["index.html", "09-demo/index.html", "09-demo/gpu.html", "records/small.html"] {
        let text = fixture.page(page);
        let bar = "<a href=\"https://example.org/course\" title=\"Git repository\"";
        assert!(text.contains(bar), "{page}");
        assert_eq!(text.contains("href=\"pdf/throughput.pdf\""), page == "index.html", "{page}");
        let opener = page == "09-demo/index.html";
        assert_eq!(text.contains("href=\"../pdf/09-demo.pdf\""), opener, "{page}");
    }
}

#[test]
fn a_stand_in_explains_itself_where_the_reader_chose_a_machine() {
    let figure = "```figure demo.rate.wide\nbars: rate (GFLOP/s), ÷1e9\nn = 128 = demo.rate n=128\n> Found: {demo.rate n=128}.\n```";
    for (first, told) in [("small", false), ("yours", true)] {
        let fixture = Fixture::new();
        fixture.append(figure);
        if first == "yours" {
            fixture.record(first, "Mine", false);
        }
        fixture.binder().build().unwrap();
        let page = fixture.page("09-demo/index.html");
        assert!(page.contains("data-machine=\"large\" data-also=\"small"), "{page}");
        assert_eq!(page.contains("Shown is that of large."), told, "{first}");
    }
}

#[test]
fn the_readers_machine_comes_last_and_shows_first() {
    let fixture = Fixture::new();
    fixture.record("yours", "Mine", false);
    let binder = fixture.binder();
    let names: Vec<&str> = binder.records.iter().map(|records| records.name.as_str()).collect();
    assert_eq!(names, ["small", "large", "yours"]);
    binder.build().unwrap();
    let page = fixture.page("09-demo/index.html");
    assert!(page.contains("data-default=\"yours\""));
    assert!(
        page.contains("data-beside=\"large small\"")
            && page.contains("your machine (Mine, 2 cores)")
    );
    assert!(
        fixture.page("records/small/pages/09-demo-index.js").contains("data-machine=\\\"small")
    );
    let pages = binder.pages().unwrap();
    assert!(
        !pages.iter().any(|page| page.markdown.contains("Mine")),
        "a notebook shows a reference machine"
    );
}

#[test]
fn a_machine_that_a_reader_sent_in_is_shown_and_marked() {
    let fixture = Fixture::new();
    let place = format!("{CONTRIBUTED}/amber");
    // Machines of the switch are separated by a semicolon: one in a name must not make another machine.
    fixture.record(&place, "Ryzen; 9", false);
    // A run of an older course: what it lacks does not stop the build.
    let old = fixture.records().join(&place).join("demo.json");
    let text = fs::read_to_string(&old).unwrap().replace("\"n\": \"64\"", "\"n\": \"65\"");
    // What strangers write is text, never a part of the page.
    let text = text.replace("rustc 1.95.0", "`<script id=evil>`");
    fs::write(&old, text).unwrap();
    fixture.record("yours", "Mine", false);
    let binder = fixture.binder();
    let names: Vec<&str> = binder.records.iter().map(|records| records.name.as_str()).collect();
    assert_eq!(names, ["small", "large", "amber", "yours"]);
    binder.build().unwrap();
    fixture.is_whole();
    let page = fixture.page("09-demo/index.html");
    assert!(page.contains("amber=amber (Ryzen, 9, 2 cores, contributed by a reader)"), "{page}");
    // Its numbers are not on the page, but next to it: in drawings alone they stay.
    let marked = |page: &str| {
        page.split("data-machine=\"amber\"").count()
            - page.split("<tspan data-machine=\"amber\"").count()
    };
    assert!(
        page.contains("data-page=\"09-demo-index\" data-beside=\"amber large small\""),
        "{page}"
    );
    assert_eq!(marked(&page), 0);
    assert!(fixture.path("target/book/records/amber/pages/print.js").is_file());
    let page = fixture.page("records/amber.html");
    assert!(!page.contains("<script id=evil") && page.contains("id=evil"), "{page}");
    assert!(!fixture.page("records/small.html").contains("A reader"));
    let notebooks = binder.pages().unwrap();
    assert!(!notebooks.iter().any(|page| page.markdown.contains("amber")), "no reference machine");

    // Alone it is shown, and no notebook quotes it.
    for other in ["small", "large", "yours"] {
        fs::remove_dir_all(fixture.records().join(other)).unwrap();
    }
    let alone = fixture.binder();
    alone.build().unwrap();
    assert!(fixture.page("09-demo/index.html").contains("data-machine=\"amber\""));
    assert!(alone.pages().unwrap()[1].markdown.contains("(not measured yet)"));
    fixture.record("amber", "Another", false);
    let twice = Binder::open(fixture.folder.path(), vec![demo()], &fixture.records()).err();
    assert!(twice.is_some_and(|error| error.to_string().contains("two machines have the name")));
}

#[test]
fn a_figure_that_panics_is_a_sentence_and_not_the_end_of_the_build() {
    #[allow(clippy::unnecessary_wraps, reason = "the form of a figure")]
    fn first(records: &Records) -> lab::Result<Drawing> {
        let sizes: Vec<f64> = records
            .all("demo.rate", &Params::new())
            .iter()
            .map(|value| value.median / 1e9)
            .filter(|rate| *rate > 0.0)
            .collect();
        let svg = format!("<svg viewBox=\"0 0 {} 9\"></svg>", sizes[0]);
        let (caption, alt) = ("The rates.".to_owned(), "A bar.".to_owned());
        Ok(Drawing { svg, caption, alt, ..Drawing::default() })
    }
    let fixture = Fixture::new();
    let build = || {
        let mut binder = fixture.binder();
        binder.chapters[0].figures = vec![Figure { key: "demo.rates", draw: first }];
        binder.build()
    };
    // What a reader sent in shows that it can't be drawn.
    let place = format!("{CONTRIBUTED}/amber");
    fixture.record(&place, "Ryzen", false);
    let spoil = |place: &str| {
        let file = fixture.records().join(place).join("demo.json");
        let text =
            fs::read_to_string(&file).unwrap().replace("\"demo.rate\", ", "\"demo.rate.gone\", ");
        fs::write(&file, text).unwrap();
    };
    spoil(&place);
    build().unwrap();
    let script = fixture.page("records/amber/pages/09-demo-index.js");
    assert!(script.contains("On amber: it can't be made from these records"), "{script}");
    // A reference machine's stops the build, with the figure, the machine and the location.
    spoil("large");
    let error = format!("{:#}", build().unwrap_err());
    for part in ["the figure `demo.rates`", "of large", "index out of bounds", "build.rs:"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(names(&fixture.path("target")), ["book"], "only the old book is there");
}

#[test]
fn a_long_list_of_gpus_does_not_fill_the_book() {
    let fixture = Fixture::new();
    let place = format!("{CONTRIBUTED}/amber");
    fixture.record(&place, "Ryzen", true);
    fixture.binder().build().unwrap();
    let size = || -> u64 {
        let files = [
            "09-demo/index.html",
            "print.html",
            "records/amber.html",
            "records/amber/pages/print.js",
        ];
        files.iter().map(|file| fixture.page(file).len() as u64).sum()
    };
    let before = size();
    let file = fixture.records().join(&place).join("machine.json");
    let mut machine: Machine = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    machine.gpus = vec!["G".repeat(400); 20_000];
    machine.features = machine.gpus.clone();
    fs::write(&file, serde_json::to_string(&machine).unwrap()).unwrap();
    fixture.binder().build().unwrap();
    let (after, sent) = (size(), 2 * 20_000 * 400);
    assert!(after < before + 40_000, "{sent} bytes became {} in the book", after - before);
    assert!(fixture.page("records/amber.html").contains(", and 19984 more"));
}

#[test]
fn a_book_goes_into_a_folder_that_is_new_empty_or_a_book() {
    let fixture = Fixture::new();
    let file = fixture.path("thesis.txt");
    fs::write(&file, "years of work").unwrap();
    let mut binder = fixture.binder();
    let error = binder.put_into(&file).unwrap_err().to_string();
    assert!(error.contains("thesis.txt is not a book") && error.contains("--out"), "{error}");
    let error = binder.put_into(&fixture.path("book")).unwrap_err().to_string();
    assert!(error.contains("is not a book"), "{error}");
    binder.put_into(&fixture.path("new")).unwrap();
    binder.build().unwrap();
    binder.put_into(&fixture.path("new")).unwrap();
}

#[test]
fn a_page_links_to_its_crate_where_the_book_has_the_documentation() {
    let fixture = Fixture::new();
    let made = fixture.path("target/doc");
    let file = |name: &str, text: &str| put(&made, name, text);
    // Rustdoc's own pages may contain what ours may not.
    file("demo/all.html", "");
    file("static.files/rustdoc.js", "'https://example.org/'");
    file("other/all.html", "");
    file("src/demo/lib.rs.html", "");
    file("src/other/lib.rs.html", "");
    file(".lock", "");
    let mut binder = fixture.binder();
    binder.build().unwrap();
    assert!(!fixture.page("09-demo/index.html").contains("doc-link"));

    binder.docs = Some(made.clone());
    let error = format!("{:#}", binder.build().unwrap_err());
    assert!(error.contains("no documentation of the crate demo; run `cargo doc"), "{error}");
    file("demo/index.html", "<a href=gone.html>");
    binder.build().unwrap();
    fixture.is_whole();
    let link = "class=\"doc-link\" href=\"../doc/demo/index.html\"";
    assert!(fixture.page("09-demo/index.html").contains(link));
    assert!(!fixture.page("09-demo/gpu.html").contains(link), "the chapter's first page alone");
    let book = fixture.path("target/book/doc");
    for there in ["demo/index.html", "static.files/rustdoc.js", "src/demo/lib.rs.html"] {
        assert!(book.join(there).is_file(), "{there}");
    }
    for gone in ["other", "src/other", ".lock"] {
        assert!(!book.join(gone).exists(), "{gone}");
    }
    fs::remove_file(book.join("demo/index.html")).unwrap();
    let dead = links::check(&fixture.path("target/book")).unwrap();
    // The page, and its copies for paper.
    assert!(dead.len() == 3 && dead.iter().all(|l| l.contains("doc/demo")), "{dead:?}");
}

#[test]
fn a_book_without_records_says_so() {
    let fixture = Fixture::new();
    fs::remove_dir_all(fixture.records()).unwrap();
    fixture.binder().build().unwrap();
    fixture.is_whole();
    assert!(fixture.page("09-demo/index.html").contains("not measured yet"));
    assert!(fixture.binder().pages().unwrap()[1].markdown.contains("(not measured yet)"));
}

#[test]
fn a_book_at_an_address_says_so_on_every_page() {
    let fixture = Fixture::new();
    let mut binder = fixture.binder();
    binder.site = Some("https://example.org/book".parse().unwrap());
    binder.build().unwrap();
    let map = fixture.page("sitemap.xml");
    assert!(map.contains("<loc>https://example.org/book/09-demo/</loc>"), "{map}");
    assert!(map.contains("<loc>https://example.org/book/09-demo/gpu.html</loc>"), "{map}");
    assert!(fixture.page("404.html").contains("<base href=\"/book/\">"));
    let page = fixture.page("09-demo/gpu.html");
    assert!(page.contains("og:url\" content=\"https://example.org/book/09-demo/gpu.html\""));
    fixture.is_whole();
}

/// Ends the lines of all text below `folder` as git does where it is told to.
fn end_lines_as_windows(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            end_lines_as_windows(&path);
        } else if let Ok(text) = fs::read_to_string(&path) {
            fs::write(path, text.replace('\n', "\r\n")).unwrap();
        }
    }
}

#[test]
fn a_checkout_of_windows_makes_the_same_book() {
    let fixture = Fixture::new();
    let read = || {
        fixture.binder().build().unwrap();
        let names = ["index.html", "09-demo/index.html", "09-demo/gpu.html", "glossary.html"];
        let pages = fixture.binder().pages().unwrap().into_iter().map(|page| page.markdown);
        pages.chain(names.map(|name| fixture.page(name))).collect::<Vec<_>>()
    };
    let plain = read();
    for part in ["book/src", "chapters"] {
        end_lines_as_windows(&fixture.path(part));
    }
    assert!(plain == read());
}

#[test]
fn each_error_stops_the_build_and_says_where() {
    let fixture = Fixture::new();
    fs::write(fixture.path("chapters/09-demo/kernels/bad.wgsl"), "// </SCRIPT>\n").unwrap();
    let page = fixture.path("book/src/09-demo/README.md");
    let sound = fs::read_to_string(&page).unwrap();
    for (text, says) in [
        ("{{#measure demo.gone}}", "no experiment declares"),
        ("{{#measure demo.rate n=65}}", "not among the values"),
        ("{{#measure demo.rate}} {{#measure demo.rate}}", "names 2 values"),
        ("{{#measure demo.rate n=64 loudly}}", "loudly"),
        ("{{#figure demo.gone}}", "demo.gone"),
        ("{{#table demo.gone}}", "demo.gone"),
        ("Text {{#figure demo.rates}}", "line of its own"),
        ("{{#include gone.rs}}", "gone.rs"),
        ("{{#include ../../../chapters/09-demo/src/lib.rs:gone}}", "gone"),
        ("{{#exercise demo/gone}}", "add"),
        ("{{#exercise add}}", "CHAPTER/NAME"),
        ("{{#exercise other/add}}", "no chapter"),
        ("{{#term gone}}", "gone"),
        ("{{#nonsense}}", "nonsense"),
        ("{{#diagram gone.svg A caption.}}", "gone.svg"),
        ("{{#diagram box.svg}}", "no caption"),
        ("{{#diagram box.png A caption.}}", "SVG file"),
        ("Text {{#diagram box.svg A caption.}}", "line of its own"),
        ("{{#index nothing}}", "no index of `nothing`"),
        ("Text {{#map times}}", "line of its own"),
        ("{{#map nothing}}", "no map of `nothing`"),
        ("{{#kernel demo/gone.wgsl}}", "gone.wgsl"),
        ("{{#kernel gone/naive.wgsl}}", "no chapter"),
        ("{{#kernel demo/bad.wgsl}}", "`</script`"),
        ("{{#kernel demo/../../x.wgsl}}", "not the name"),
        ("{{#kernel demo/a}}", "not the name"),
        ("{{#kernel a.wgsl}}", "CHAPTER/FILE"),
        ("On large it is {{#measure demo.rate n=64}}.", "names large"),
        ("{{#measure demo.rate n=64 @gone}}", "no reference machine `gone`"),
        ("{{#measure demo.rate n=128 @small}}", "no AMX"),
        ("{{#minutes 09-demo gone.md}}", "no page `gone.md`"),
        ("{{#sections}}", "begins with"),
        ("{{#measure demo.rate", "without `}}`"),
        ("A formula $\\nosuch$.", "nosuch"),
        ("A source[^gone].", "[^gone]"),
        ("{{#verdict demo.rate n=64 > 1}}", "a verdict is"),
        ("{{#verdict ✔ demo.gone > 1}}", "no experiment declares `demo.gone`"),
        ("{{#verdict ✔ demo.rate n=65 > 1}}", "not among the values"),
        ("{{#verdict ✔ demo.rate n=64}}", "a rule is"),
        ("{{#verdict ✗ demo.rate n=64 > 1e9}}", "by the record it is ✔"),
        ("{{#verdict ✔ demo.rate n=64 < it n=64 @large}}", "by the record it is ✗"),
        ("{{#verdict ○ demo.rate n=64 > 1}}", "by the record it is ✔"),
        ("{{#verdict ✔ demo.rate n=128 > 1 @small}}", "no reference machine has measured"),
        ("{{#verdict ✔ demo.rate n=64 > 1 and it n=64 > 1e15}}", "its own verdict"),
        ("{{#verdict ✔ demo.rate n=64 > 1 @gone}}", "no reference machine `gone`"),
        ("{{#verdict ✔ printed \"a\" > 1}}", "no number behind `a`"),
        ("{{#verdict ✗ printed \"4\" > 1}}", "by the record it is ✔"),
    ] {
        fs::write(&page, &sound).unwrap();
        fixture.append(text);
        let error = fixture.error();
        assert!(error.contains(says), "{text}: {error}");
        let lines = fs::read_to_string(&page).unwrap().lines().count();
        let place = format!("book/src/09-demo/README.md:{lines}");
        assert!(error.contains(&place), "{text}: {error} does not say {place}");
    }
}

#[test]
fn a_verdict_is_the_reference_machines_and_a_cells() {
    let fixture = Fixture::new();
    fixture.record("yours", "Mine", true);
    let more = "A {{#verdict ✔ demo.rate n=64 of-limit > 50%}}, B {{#verdict ✗ demo.rate n=64 > 1.2e11}}, \
                C {{#verdict ✔ demo.rate n=128 > it n=64}}, D {{#verdict ○ demo.rate n=128 > 1 @small}}, \
                E {{#verdict ✔ printed \"4\" > 1 and printed \"p…4\" > 1}}.";
    fixture.append(more);
    fixture.binder().build().unwrap();
    let page = fixture.page("09-demo/index.html");
    let (_, found) = page.split_once("<p>A <a class=\"measured verdict\"").unwrap();
    let said = "title=\"On small: 55.0%, asked for: more than 50%\">✔</a>, B <a";
    assert!(found.contains(said) && found.contains(">✗</a>, C <a"), "{found}");
    assert!(found.contains("On large: 3.00 TFLOP/s, asked for: more than 220 GFLOP/s"), "{found}");
    assert!(found.contains(", D ○, E ✔."), "{found}");
    let pages = fixture.binder().pages().unwrap();
    assert!(pages.iter().any(|page| page.markdown.contains("A ✔, B ✗, C ✔, D ○, E ✔.")));
}

#[test]
fn a_page_declares_figures_and_tables() {
    let fixture = Fixture::new();
    let figure = "```figure demo.rate.bars\nbars: rate (GFLOP/s), ÷1e9\nn = 64 = demo.rate n=64\n> Found: {demo.rate n=64}.\n```";
    let table = "```table demo.rate.bars\nsize | \"64\"\nrate | demo.rate n=64\n> Its rate.\n```";
    fixture.append(&format!("{figure}\n\n{table}\n\nAgain:\n\n{{{{#table demo.rate.bars}}}}"));
    fixture.binder().build().unwrap();
    let page = fixture.page("09-demo/index.html");
    for part in ["id=\"figure-demo-rate-bars\"", "id=\"table-demo-rate-bars\"", "Found: ", "n = 64"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("```") && page.matches("<caption>Its rate.").count() >= 2, "{page}");
    for (text, says) in [
        ("```figure demo.rate.a\nbars: rate\na = demo.gone\n> A.\n```", "declares `demo.gone`"),
        ("```table demo.rate.a\nn | demo.rate n=64\n```", "the finding is missing"),
        ("```figure gone.a\nbars: rate\na = demo.rate n=64\n> A.\n```", "no experiment's key"),
        (figure, "declared twice"),
    ] {
        let fixture = Fixture::new();
        fixture.append(&format!("{figure}\n\n{text}"));
        let error = fixture.error();
        assert!(error.contains(says) && error.contains("09-demo/README.md:"), "{text}: {error}");
    }
}

#[test]
fn files_that_are_not_as_they_should_be_stop_the_build() {
    let long = format!("// ANCHOR: a\n{}// ANCHOR_END: a\n", "let x = 1;\n".repeat(26));
    for (file, text, more, says) in [
        ("long.rs", long.as_str(), "```rust\n{{#include ../../../long.rs:a}}\n```", "26 lines"),
        ("book/src/bibliography.md", "[^goto]: A.\n[^idle]: B.\n", "", "sources idle;"),
        ("book/src/bibliography.md", "[^goto]: A.\n[^goto]: B.\n", "", "md:2: the source `goto`"),
        (
            "book/src/glossary.md",
            "FMA\n: a\n\nfma\n: b\n",
            "",
            "md:4: the term `fma` is there twice",
        ),
        ("notebooks/09-demo.ipynb", "no", "", "not a notebook"),
        ("chapters/09-demo/exercises/add/solution.rs", "fn a() {}", "", "solution.rs: it needs"),
        ("chapters/09-demo/exercises/add/README.md", "# Add\n", "", "add/README.md: its second"),
        ("book/src/09-demo/more.md", "# More\n\n{{#sections}}\n", "", "only the opener"),
        ("none", "", "<div>\n\nnever closed", "unclosed HTML tag"),
    ] {
        let fixture = Fixture::new();
        fs::write(fixture.path(file), text).unwrap();
        fixture.append(more);
        let error = fixture.error();
        assert!(error.contains(says), "{file}: {error}");
    }
    let fixture = Fixture::new();
    fs::remove_file(fixture.path("book/src/09-demo/more.md")).unwrap();
    assert!(fixture.error().contains("more.md"));
}
