//! For the chapters' tests: made-up records, the pages' scripts on Node.js, and what is skipped where a tool is missing.

pub use client::{ask, rest, soon};
pub use tools::{Tool, need, tell_at_end};

use crate::{
    Budget, Chapter, Device, Error, Experiment, Figure, Key, Records, Samples, Table, chapter,
    data::{Split, files::MNIST, idx},
    files::inside,
    git::git,
    key::Quantity,
    machine::Machine,
    probe::ask_within,
    progress::Progress,
    record::{ChapterRecord, Run, Skipped, Value},
};
use serde::Serialize;
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    env,
    fmt::Display,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    slice,
    sync::OnceLock,
    time::Duration,
};

mod client;
pub mod runs;
mod tools;

/// How long a program may take to say its version, beside all the tests that run at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file of the book, by its path from the folder `book`.
pub fn book(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book").join(path)
}

/// Holds a page of `book/src` to a ladder: its figures and tables name each rung, by key and words.
///
/// # Panics
/// If it lacks one.
pub fn has_rungs<'r>(page: &str, rungs: impl IntoIterator<Item = (&'r str, &'r str)>) {
    let text = fs::read_to_string(book("src").join(page)).expect("the page can be read");
    for (key, name) in rungs {
        let named = if key == name { format!(" {key}") } else { format!(" {key} \"{name}\"") };
        let lists = text.lines().filter(|line| line.starts_with("each rung: ")).collect::<Vec<_>>();
        let all = lists.iter().all(|list| list.contains(&named));
        assert!(!lists.is_empty() && all, "{page} lacks the rung{named}");
    }
}

/// Holds a failure to its words.
///
/// # Panics
/// If it is none, or says something else.
#[track_caller]
pub fn refused<T, const N: usize>(result: Result<T, impl Display>, words: [&str; N]) {
    let said = result.err().expect("it is refused").to_string();
    assert!(words.iter().all(|words| said.contains(words)), "{said}");
}

/// Writes a file below a folder, and makes the folders that it needs.
///
/// # Panics
/// If it can't.
pub fn put(folder: &Path, file: &str, text: impl AsRef<[u8]>) {
    let file = folder.join(file);
    fs::create_dir_all(file.parent().unwrap_or(folder)).expect("folders can be made");
    fs::write(file, text).expect("the file can be written");
}

/// The names of what lies in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
    inside(folder).iter().filter_map(name).collect()
}

/// Copies what lies in and below a folder.
///
/// # Panics
/// If it can't.
pub fn copy(from: &Path, to: &Path) {
    for name in names(from) {
        let path = from.join(&name);
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            put(to, &name, fs::read(path).expect("the file can be read"));
        }
    }
}

/// Writes what is to train and to test into a folder, as the four published files.
///
/// # Panics
/// If it can't.
pub fn put_set(folder: &Path, train: &Split, test: &Split) {
    let [images, labels, test_images, test_labels] = MNIST.map(|file| file.name);
    for (images, labels, split) in [(images, labels, train), (test_images, test_labels, test)] {
        put(folder, images, idx::write_images(&split.images, split.rows, split.cols));
        put(folder, labels, idx::write_labels(&split.labels));
    }
}

/// Whether the pages' scripts can run here: older versions lack methods of arrays and texts.
fn new_enough_node() -> Result<(), String> {
    const OLDEST: u32 = 18;
    let said = ask_within(PATIENCE, "node", &["--version"]).ok_or("there is none")?;
    let major = said.strip_prefix('v').and_then(|version| version.split('.').next()?.parse().ok());
    if major.is_some_and(|major: u32| major >= OLDEST) { Ok(()) } else { Err(said) }
}

/// What a function of JavaScript returns for `input`, with a script of `book/theme` as `page`; `None` where there is no
/// Node.js, or an old one.
///
/// ```no_run
/// let input = serde_json::json!([1, 4]);
/// let parts = lab::testing::node("ring-all-reduce.js", "([rank, p]) => page.stepParts(rank, 1, p)", &input);
/// ```
///
/// # Panics
/// If the program fails, or prints no JSON.
pub fn node(script: &str, function: &str, input: &Json) -> Option<Json> {
    static NODE: OnceLock<Result<(), String>> = OnceLock::new();
    let program = format!(
        "const page = require(process.argv[1]); \
         const input = JSON.parse(require('fs').readFileSync(0, 'utf8')); \
         console.log(JSON.stringify(({function})(input)));"
    );
    need(Tool::Node, NODE.get_or_init(new_enough_node).clone())?;
    let mut child = Command::new("node")
        .arg("-e")
        .arg(program)
        .arg(book("theme").join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Node.js starts");
    // All of it is read before anything is printed. A script that fails to load closes the pipe: its own words say why.
    let wrote = child.stdin.take().map(|mut pipe| pipe.write_all(input.to_string().as_bytes()));
    let out = child.wait_with_output().expect("Node.js ends");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(matches!(wrote, Some(Ok(()))), "Node.js did not read its input");
    Some(serde_json::from_slice(&out.stdout).expect("the program prints JSON"))
}

/// Holds what a function of JavaScript returns (see [`node`]) to what the crate has: numbers that are no integers by `fits`,
/// all else the same. An object may have more names than are wanted.
///
/// # Panics
/// As [`node`]; or if the two differ.
pub fn agrees(
    script: &str,
    function: &str,
    input: &impl Serialize,
    wanted: &impl Serialize,
    fits: impl Fn(f64, f64) -> bool,
) {
    let input = serde_json::to_value(input).expect("the input is JSON");
    let Some(found) = node(script, function, &input) else { return };
    let wanted = serde_json::to_value(wanted).expect("what is wanted is JSON");
    assert_eq!(difference(&found, &wanted, &fits), None, "{script}");
}

/// For [`agrees`]: apart by at most this part of what is wanted.
pub fn relative(within: f64) -> impl Fn(f64, f64) -> bool {
    move |found, wanted| (found - wanted).abs() <= within * wanted.abs()
}

/// Where two values differ, if they do: the way there, and both.
fn difference(found: &Json, wanted: &Json, fits: &dyn Fn(f64, f64) -> bool) -> Option<String> {
    let within = |name: &dyn Display, found: &Json, wanted: &Json| {
        difference(found, wanted, fits).map(|what| format!("[{name}]{what}"))
    };
    let same = match (found, wanted) {
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            return a.iter().zip(b).enumerate().find_map(|(at, (a, b))| within(&at, a, b));
        }
        (Json::Object(a), Json::Object(b)) => {
            let of = |name| a.get(name).unwrap_or(&Json::Null);
            return b.iter().find_map(|(name, b)| within(name, of(name), b));
        }
        (Json::Number(a), Json::Number(b)) if b.is_f64() => {
            a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| fits(a, b))
        }
        _ => found == wanted,
    };
    (!same).then(|| format!(": {found}, not {wanted}"))
}

/// Makes a repository of `folder`. What this returns runs git there; `None` where there is none.
///
/// # Panics
/// If git fails.
pub fn repository(folder: &Path) -> Option<impl Fn(&[&str])> {
    need(Tool::Git, ask_within(PATIENCE, "git", &["--version"]).ok_or("there is none"))?;
    let folder = folder.to_owned();
    let run = move |arguments: &[&str]| {
        let me =
            ["user.name=A", "user.email=a@b", "commit.gpgsign=false", "core.hooksPath=/dev/null"];
        let me = me.iter().flat_map(|setting| ["-c", setting]);
        let done = git(&folder).args(me).args(arguments).output().expect("git starts");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}: {said}");
    };
    run(&["init", "-q"]);
    Some(run)
}

/// Holds a script of `book/theme` to the data that it should have, in its line `const DATA = …;`.
///
/// # Panics
/// If the line holds something else. With `UPDATE` in the environment it is written instead.
pub fn has_data(script: &str, data: &Json) {
    const BEGINS: &str = "  const DATA = ";
    let file = book("theme").join(script);
    let text = fs::read_to_string(&file).expect("the script can be read");
    let found =
        text.lines().find(|line| line.starts_with(BEGINS)).expect("the script has a line for data");
    is_as_made(&file, &text.replace(found, &format!("{BEGINS}{data};")));
}

/// Holds a file to what it should be.
///
/// # Panics
/// If it is something else. With `UPDATE` in the environment it is written instead.
pub fn is_as_made(file: &Path, wanted: &str) {
    let found = fs::read_to_string(file).unwrap_or_default();
    if found != wanted && env::var_os("UPDATE").is_some() {
        return fs::write(file, wanted).expect("the file can be written");
    }
    let differs = found.lines().zip(wanted.lines()).find(|(old, new)| old != new);
    let file = file.display();
    assert!(found == wanted, "{file} is stale; UPDATE=1 writes it anew: {differs:?}");
}

/// Compares a figure of `book/src`, for readers without JavaScript, with what a page's script draws: `function` returns it.
///
/// # Panics
/// As [`node`]; or if the file holds another figure. With `UPDATE` in the environment it is written instead.
pub fn is_drawn(picture: &str, script: &str, function: &str) {
    let Some(drawn) = node(script, function, &Json::Null) else { return };
    let drawn = drawn.as_str().expect("a figure is text");
    is_as_made(&book("src").join(picture), &format!("{drawn}\n"));
}

/// A chapter with one experiment, which declares these keys and leaves nothing.
pub fn demo(key: &'static str, values: &'static [Key]) -> Chapter {
    let experiments = crate::experiments! { quick key => values, |_| Ok(()), "that it works"; };
    Chapter { experiments, ..Chapter::of(9, "demo", "A demonstration", []) }
}

/// The records of a machine on which no experiment ran.
pub fn unmeasured() -> Records {
    Records {
        machine: Machine { cpu: "A made-up CPU".to_owned(), cores: 2, ..Machine::default() },
        name: "made-up".to_owned(),
        contributed: false,
        chapters: BTreeMap::new(),
    }
}

/// The records of a machine that measured these values and left out the others, each in the run of the experiment that
/// declares its key. An experiment without either did not run.
///
/// # Panics
/// If no experiment of the chapter declares the key of a value: then no machine leaves it.
pub fn records(chapter: &Chapter, values: &[Value], skipped: &[Skipped]) -> Records {
    let declared =
        |key: &str| chapter.experiments.iter().any(|experiment| experiment.declared(key).is_some());
    for key in values.iter().map(|v| &v.key).chain(skipped.iter().map(|s| &s.key)) {
        assert!(declared(key), "no experiment of `{}` declares `{key}`", chapter.name);
    }
    let runs = chapter.experiments.iter().map(|experiment| {
        let belongs = |key: &str| experiment.declared(key).is_some();
        Run {
            experiment: experiment.key.to_owned(),
            command: format!("measure {}", chapter.name),
            date: "2026-01-01T00:00:00Z".to_owned(),
            commit: "0".to_owned(),
            budget: "full".to_owned(),
            values: values.iter().filter(|v| belongs(&v.key)).cloned().collect(),
            skipped: skipped.iter().filter(|s| belongs(&s.key)).cloned().collect(),
            ..Run::default()
        }
    });
    let runs = runs.filter(|run| !run.values.is_empty() || !run.skipped.is_empty()).collect();
    let chapters = BTreeMap::from([(chapter.name.to_owned(), ChapterRecord { runs })]);
    Records { chapters, ..unmeasured() }
}

/// What an experiment leaves under the quick budget, on the CPU. For one that takes long, give it a `run` on less:
/// `Experiment { run: |r| rungs(r, 64), ..experiment }`.
///
/// # Panics
/// If it fails; if it leaves a key that it does not declare, or none of a key that it declares.
pub fn run(experiment: &Experiment) -> Run {
    let (budget, hidden) = (Budget::Quick, Progress::hidden());
    let run = chapter::run_keeping(experiment, budget, Device::Cpu, None, &hidden, &mut |_| Ok(()));
    let run = run.expect("the experiment runs");
    for declared in experiment.values {
        let left = run.values.iter().any(|value| value.key == declared.name)
            || run.skipped.iter().any(|skipped| skipped.key == declared.name);
        assert!(left, "{} declares {} and leaves none", experiment.key, declared.name);
    }
    run
}

/// The experiment of a chapter that has this key.
///
/// # Panics
/// If there is none.
pub fn experiment(chapter: Chapter, key: &str) -> Experiment {
    let found = chapter.experiments.into_iter().find(|experiment| experiment.key == key);
    found.expect("the chapter has the experiment")
}

/// Made-up values of a chapter, for tests of its figures and tables.
#[derive(Default)]
pub struct MadeUp {
    values: Vec<Value>,
    skipped: Vec<Skipped>,
}

impl MadeUp {
    /// One more value, with samples around this median.
    pub fn add(&mut self, quantity: Quantity, median: f64) -> &mut Self {
        self.values.push(quantity.value(Samples(vec![0.9 * median, median, 1.1 * median])));
        self
    }

    /// One more that was left out.
    pub fn skip(&mut self, quantity: Quantity, why: &str) -> &mut Self {
        self.skipped.push(quantity.skipped(why));
        self
    }

    /// As the records of a machine.
    ///
    /// # Panics
    /// As [`records`].
    pub fn records(&self, chapter: &Chapter) -> Records {
        records(chapter, &self.values, &self.skipped)
    }
}

/// Holds figures and tables to what all of them keep: with these records each is drawn, with a caption and words that
/// are sentences; without records each says what to run.
///
/// # Panics
/// If one does not.
pub fn are_drawn(figures: &[Figure], tables: &[Table], records: &Records) {
    let sentence = |text: &str| {
        text.ends_with('.') && !["NaN", "not a number"].iter().any(|word| text.contains(word))
    };
    for Figure { key, draw } in figures {
        let drawing = draw(records).unwrap_or_else(|error| panic!("{key}: {error}"));
        assert!(drawing.svg.starts_with("<svg"), "{key}");
        assert!(drawing.svg.lines().all(|line| !line.trim().is_empty()), "{key}: a blank line");
        assert!(sentence(&drawing.caption), "{key}: {}", drawing.caption);
        assert!(sentence(&drawing.alt) && drawing.alt.len() > 40, "{key}: {}", drawing.alt);
        let missing = draw(&unmeasured());
        assert!(matches!(missing, Err(Error::NotMeasured { .. })), "{key}: {missing:?}");
    }
    for Table { key, make } in tables {
        let data = make(records).unwrap_or_else(|error| panic!("{key}: {error}"));
        assert!(!data.rows.is_empty() && sentence(&data.caption), "{key}: {}", data.caption);
        for row in &data.rows {
            assert_eq!(row.len(), data.head.len(), "{key}: {row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{key}: {row:?}");
        }
        let missing = make(&unmeasured());
        assert!(matches!(missing, Err(Error::NotMeasured { .. })), "{key}: {missing:?}");
    }
}

/// Holds all figures and tables of a chapter to the book's records: [`are_drawn`] holds for each machine that has what one
/// needs, of which there is one at least, and runs that left no value make none.
///
/// # Panics
/// If not.
pub fn are_drawn_in_the_book(chapter: &Chapter) {
    let folders = fs::read_dir(book("records")).expect("the book has records");
    let folders = folders.map(|entry| entry.expect("it can be read").path());
    let machines: Vec<Records> = folders
        .filter(|folder| folder.join("machine.json").is_file())
        .map(|folder| Records::load(&folder).expect("it holds records"))
        .collect();
    let mut empty = machines.clone();
    let chapters = empty.iter_mut().flat_map(|machine| machine.chapters.values_mut());
    let runs = chapters.flat_map(|chapter| &mut chapter.runs);
    runs.for_each(|run| run.values.clear());
    let hold = |key: &str, is_there: &dyn Fn(&Records) -> bool, drawn: &dyn Fn(&Records)| {
        let with = machines.iter().filter(|records| is_there(records));
        assert!(with.map(drawn).count() > 0, "{key}: no machine has what it needs");
        assert!(!empty.iter().any(is_there), "{key}");
    };
    for figure in &chapter.figures {
        let drawn = |records: &Records| are_drawn(slice::from_ref(figure), &[], records);
        hold(figure.key, &|records| (figure.draw)(records).is_ok(), &drawn);
    }
    for table in &chapter.tables {
        let made = |records: &Records| are_drawn(&[], slice::from_ref(table), records);
        hold(table.key, &|records| (table.make)(records).is_ok(), &made);
    }
}

/// What a run has written as JSON, without what no two runs share: clocks, rates, and which programs computed its parts.
#[must_use]
pub fn timeless(value: Json) -> Json {
    const OF_TIME: [&str; 8] = [
        "started",
        "seconds",
        "epoch_seconds",
        "training",
        "time",
        "images_per_second",
        "tokens_per_second",
        "parts",
    ];
    let timed = |name: &str| OF_TIME.contains(&name);
    match value {
        Json::Object(all) => all
            .into_iter()
            .filter(|(name, _)| !timed(name))
            .map(|(name, value)| (name, timeless(value)))
            .collect(),
        // A curve's point is a pair of its name and its value.
        Json::Array(all) if all[..].first().and_then(Json::as_str).is_some_and(timed) => Json::Null,
        Json::Array(all) => all.into_iter().map(timeless).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_is_found_and_named() {
        let found = json!({ "a": [1, 2.05], "b": "x", "c": null });
        for (wanted, differs) in [
            (json!({ "a": [1, 2.0], "b": "x", "none": null }), None),
            (json!({ "a": [1, 3.0] }), Some("[a][1]: 2.05, not 3.0")),
            (json!({ "a": [2, 2.0] }), Some("[a][0]: 1, not 2")),
            (json!({ "a": [1] }), Some("[a]: [1,2.05], not [1]")),
            (json!({ "b": "y" }), Some("[b]: \"x\", not \"y\"")),
            (json!({ "c": 1.5 }), Some("[c]: null, not 1.5")),
        ] {
            assert_eq!(difference(&found, &wanted, &relative(0.1)).as_deref(), differs);
        }
    }
}
