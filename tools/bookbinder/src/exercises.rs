//! The exercises: what is solved, what comes next.
//!
//! `chapters/NN-name/exercises/NAME/` holds
//!
//! - `README.md`: `# Title`, then the line `10 minutes · level 1 of 3`, the task, `## Hint 1` …, `## Solution`;
//! - `exercise.rs`: the reader's file, which compiles and fails its test;
//! - `solution.rs`: the same file, solved. The two differ only between `// EXERCISE: begin` and
//!   `// EXERCISE: end`;
//! - `test.rs`: the test, which takes one or the other as `mod exercise`.
//!
//! The exercises of a chapter are a package, `CRATE-exercises`, whose manifest `exercises/Cargo.toml` names each test:
//! `[[test]] name = "exercise-NAME"`, with `test = false`, since it fails until it is solved. The feature `solutions` makes
//! it take the solution. It is that package's feature, so that the chapter is compiled once for all of them.
//!
//! The order is that of the pages: an exercise comes where `{{#exercise CHAPTER/NAME}}` stands. Nothing
//! is noted about a reader's progress: an exercise is solved if its test passes. So that this need not
//! be tried again each time, `target/exercises.json` remembers the outcome for files that have not changed.

use crate::jupyter::{Source, cargo, cause, plain, read_lines};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    env,
    fmt::Write as _,
    fs,
    hash::Hasher,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The mark before what the reader changes.
pub const BEGIN: &str = "// EXERCISE: begin";

/// The mark behind it.
pub const END: &str = "// EXERCISE: end";

/// The longest that a test may run: an endless loop is a common mistake.
const LIMIT: Duration = Duration::from_secs(30);

/// One exercise.
#[derive(Clone, Debug, PartialEq)]
pub struct Exercise {
    /// The chapter's folder: `01-matmul`.
    pub chapter: String,
    /// The chapter's crate: `matmul`.
    pub krate: String,
    /// The exercise's own name: `loop-order`.
    pub name: String,
    /// The folder with its files.
    pub folder: PathBuf,
    /// The title.
    pub title: String,
    /// How long it takes and how hard it is: `10 minutes · level 1 of 3`.
    pub effort: String,
    /// What to do, as Markdown.
    pub task: String,
    /// The hints, from the gentlest on.
    pub hints: Vec<String>,
    /// What there is to say about the solution.
    pub solution: String,
    /// Whether a page has it.
    pub on_page: bool,
}

/// What became of an exercise.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its test passes; what the test printed.
    Solved(String),
    /// It does not compile: the compiler's errors.
    Broken(String),
    /// Its test fails: which tests, and what each says.
    Failing(Vec<(String, String)>),
    /// Its test did not end in time.
    Endless,
}

impl Outcome {
    /// Whether the test passes.
    pub fn is_solved(&self) -> bool {
        matches!(self, Self::Solved(_))
    }
}

impl Exercise {
    /// `matmul/loop-order`, as a person names it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.krate.replace('_', "-"), self.name)
    }

    /// The reader's file.
    pub fn file(&self) -> PathBuf {
        self.folder.join("exercise.rs")
    }

    /// The name of its test in the manifest of the chapter's exercises.
    pub fn test(&self) -> String {
        format!("exercise-{}", self.name)
    }

    /// The package of the chapter's exercises.
    fn package(&self) -> String {
        format!("{}-exercises", self.krate)
    }

    /// The manifest of that package, from the course's folder.
    fn manifest(&self) -> String {
        format!("chapters/{}/exercises/Cargo.toml", self.chapter)
    }

    /// The solved parts of `solution.rs`, each with the line on which it begins.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn solved_parts(&self) -> Result<Vec<(usize, String)>> {
        let text = read(&self.folder.join("solution.rs"))?;
        let mut parts: Vec<(usize, String)> = Vec::new();
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            match line.trim() {
                BEGIN => {
                    inside = true;
                    parts.push((number + 2, String::new()));
                }
                END => inside = false,
                _ if inside => {
                    if let Some((_, part)) = parts.last_mut() {
                        part.push_str(line);
                        part.push('\n');
                    }
                }
                _ => {}
            }
        }
        Ok(parts)
    }

    /// That the exercise is as this module says, as far as reading its files can tell: it differs from its solution
    /// between the marks alone, a page has it, and the manifest has its test. [`Checker::verify`] runs it, too.
    ///
    /// # Errors
    /// What does not hold.
    pub fn in_order(&self) -> Result<()> {
        let solution = read(&self.folder.join("solution.rs"))?;
        only_marked_parts_differ(&read(&self.file())?, &solution)?;
        if !self.on_page {
            bail!("no page in book/src/{} has `{{{{#exercise {}}}}}`", self.chapter, self.id());
        }
        let manifest = self.folder.join("../Cargo.toml");
        if !read(&manifest)?.contains(&format!("name = \"{}\"", self.test())) {
            bail!("{} has no `[[test]]` named `{}`", self.manifest(), self.test());
        }
        Ok(())
    }

    /// Reads the exercise in `folder`.
    fn read(folder: &Path, chapter: &str, krate: &str, on_page: bool) -> Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = folder.join("README.md");
        let parsed = parse(&read(&file)?).with_context(|| file.display().to_string())?;
        Ok(Self {
            chapter: chapter.to_owned(),
            krate: krate.to_owned(),
            name,
            folder: folder.to_owned(),
            title: parsed.title,
            effort: parsed.effort,
            task: parsed.task,
            hints: parsed.hints,
            solution: parsed.solution,
            on_page,
        })
    }
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))
}

/// A README in its parts.
struct Readme {
    title: String,
    effort: String,
    task: String,
    hints: Vec<String>,
    solution: String,
}

fn parse(text: &str) -> Result<Readme> {
    let rest = text.trim_start().strip_prefix("# ").context("it does not start with `# Title`")?;
    let (title, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut parts = rest.split("\n## ");
    let body = parts.next().unwrap_or_default().trim();
    let (effort, task) = body.split_once('\n').unwrap_or((body, ""));
    if !effort.contains("minutes") {
        bail!(
            "its second line does not say how many minutes it takes: `10 minutes · level 1 of 3`"
        );
    }
    let (mut hints, mut solution) = (Vec::new(), None);
    for part in parts {
        let (head, text) = part.split_once('\n').unwrap_or((part, ""));
        match head.trim() {
            "Solution" => solution = Some(text.trim().to_owned()),
            head if head.starts_with("Hint") => hints.push(text.trim().to_owned()),
            head => bail!("`## {head}` is neither a hint nor the solution"),
        }
    }
    if task.trim().is_empty() || hints.is_empty() {
        bail!("it has no task or no `## Hint 1`");
    }
    let solution = solution.context("it has no `## Solution`")?;
    let (title, task) = (title.trim().to_owned(), task.trim().to_owned());
    Ok(Readme { title, effort: effort.trim().to_owned(), task, hints, solution })
}

/// All exercises, chapter by chapter, in the order of the pages. Those on no page come last.
///
/// # Errors
/// If an exercise's README is not as this module says, or a file can't be read.
pub fn all(root: &Path) -> Result<Vec<Exercise>> {
    let chapters = root.join("chapters");
    let mut found = Vec::new();
    for chapter in folders(&chapters) {
        let folder = chapters.join(&chapter);
        let exercises = folder.join("exercises");
        let names = folders(&exercises);
        if names.is_empty() {
            continue;
        }
        let manifest = folder.join("Cargo.toml");
        let krate = crate::notebook::package_name(&read(&manifest)?)
            .ok_or_else(|| anyhow!("{} names no package", manifest.display()))?;
        let order = order(&root.join("book/src").join(&chapter));
        let place = |name: &str| {
            let named = |quoted: &&str| {
                quoted.rsplit_once('/').is_some_and(|(chapter_name, exercise)| {
                    exercise == name
                        && (chapter_name == krate
                            || chapter_name == chapter
                            || chapter_name.replace('-', "_") == krate)
                })
            };
            order.iter().map(String::as_str).position(|quoted| named(&quoted))
        };
        let mut here = names
            .iter()
            .filter(|name| exercises.join(name).join("exercise.rs").is_file())
            .map(|name| {
                let at = place(name);
                let exercise =
                    Exercise::read(&exercises.join(name), &chapter, &krate, at.is_some())?;
                Ok((at.unwrap_or(usize::MAX), exercise))
            })
            .collect::<Result<Vec<_>>>()?;
        here.sort_by(|(a, x), (b, y)| (a, &x.name).cmp(&(b, &y.name)));
        found.extend(here.into_iter().map(|(_, exercise)| exercise));
    }
    Ok(found)
}

/// The names of the folders in a folder, sorted; none if it is not there.
fn folders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The exercises that a chapter's pages quote, in order: `matmul/loop-order`.
fn order(pages: &Path) -> Vec<String> {
    let entries = fs::read_dir(pages).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // A chapter's first page is its README; the others follow by name.
    files.sort_by_key(|file| {
        (file.file_name().is_none_or(|name| name != "README.md"), file.clone())
    });
    let mut quoted = Vec::new();
    for file in
        files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md"))
    {
        let text = fs::read_to_string(file).unwrap_or_default();
        for part in text.split("{{#exercise ").skip(1) {
            if let Some((name, _)) = part.split_once("}}") {
                quoted.push(name.trim().to_owned());
            }
        }
    }
    quoted
}

/// The exercises that `which` names: all of them (`None`), a chapter's (`matmul`, `1`, `01-matmul`), or one
/// (`matmul/loop-order`).
///
/// # Errors
/// If there is none: the message lists what there is.
pub fn select<'e>(exercises: &'e [Exercise], which: Option<&str>) -> Result<Vec<&'e Exercise>> {
    let Some(which) = which else {
        return Ok(exercises.iter().collect());
    };
    let (chapter, name) = which.split_once('/').map_or((which, None), |(c, n)| (c, Some(n)));
    let selected: Vec<&Exercise> = exercises
        .iter()
        .filter(|exercise| {
            let number = exercise.chapter.split('-').next().unwrap_or_default();
            let is_chapter = [exercise.chapter.as_str(), exercise.krate.as_str(), number]
                .iter()
                .any(|known| *known == chapter || known.replace('_', "-") == chapter)
                || number.trim_start_matches('0') == chapter;
            is_chapter && name.is_none_or(|name| exercise.name == name)
        })
        .collect();
    if selected.is_empty() {
        let known: Vec<String> = exercises.iter().map(Exercise::id).collect();
        bail!("there is no exercise `{which}`; there are {}", known.join(", "));
    }
    Ok(selected)
}

/// How far a reader is, a line for each chapter: `matmul   ██████░░░░░░  3 of 6`; with `bars`, or in words alone.
pub fn progress(states: &[(&Exercise, bool)], bars: bool) -> String {
    const WIDE: usize = 12;
    let name = |exercise: &Exercise| exercise.krate.replace('_', "-");
    let widest = states.iter().map(|(exercise, _)| name(exercise).len()).max().unwrap_or(0);
    let mut out = String::new();
    for chapter in states.chunk_by(|(a, _), (b, _)| a.chapter == b.chapter) {
        let (done, all) = (chapter.iter().filter(|(_, solved)| *solved).count(), chapter.len());
        // Full only when all is done, and not empty once something is.
        let filled = (done * WIDE / all).max(usize::from(done > 0));
        let bar = "█".repeat(filled) + &"░".repeat(WIDE - filled) + "  ";
        let bar = if bars { bar.as_str() } else { "" };
        let _ = writeln!(out, "  {:widest$}  {bar}{done} of {all}", name(chapter[0].0));
    }
    out
}

/// That the exercise and its solution differ only between the marks.
///
/// # Errors
/// If they differ elsewhere, or the marks are missing or don't pair: with the line.
pub fn only_marked_parts_differ(exercise: &str, solution: &str) -> Result<()> {
    let (ours, theirs) =
        (outside(exercise).context("exercise.rs")?, outside(solution).context("solution.rs")?);
    for ((number, line), (other, wanted)) in ours.iter().zip(&theirs) {
        if line != wanted {
            bail!(
                "line {number} of exercise.rs (`{}`) is not line {other} of solution.rs (`{}`)",
                line.trim(),
                wanted.trim()
            );
        }
    }
    if ours.len() != theirs.len() {
        bail!("exercise.rs and solution.rs differ behind the last mark");
    }
    if exercise == solution {
        bail!("exercise.rs and solution.rs are the same");
    }
    Ok(())
}

/// The lines outside the marks, with the marks themselves, each with its number.
fn outside(text: &str) -> Result<Vec<(usize, &str)>> {
    let mut lines = Vec::new();
    let (mut inside, mut marks) = (false, 0);
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim() {
            BEGIN if inside => bail!("line {number} begins a part inside another one"),
            END if !inside => bail!("line {number} ends a part that was not begun"),
            BEGIN => {
                inside = true;
                marks += 1;
                lines.push((number, line));
            }
            END => {
                inside = false;
                lines.push((number, line));
            }
            _ if !inside => lines.push((number, line)),
            _ => {}
        }
    }
    if inside || marks == 0 {
        bail!("there is no pair of `{BEGIN}` and `{END}`, or the last one is not ended");
    }
    Ok(lines)
}

/// Runs the exercises of the course.
pub struct Checker {
    root: PathBuf,
    /// Whether the compiler may colour its errors.
    pub colour: bool,
}

impl Checker {
    /// A checker for the course in `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), colour: false }
    }

    /// Runs one exercise's test, on the reader's file or on the solution. `note` hears what cargo does.
    ///
    /// # Errors
    /// If cargo can't be run, or fails for another reason than the exercise.
    pub fn run(&self, exercise: &Exercise, solution: bool, note: &dyn Fn(&str)) -> Result<Outcome> {
        match self.build(&[exercise], solution, note)? {
            Ok(programs) => match &programs[..] {
                [program] => self.test(exercise, program),
                _ => bail!("cargo built no test of {}", exercise.id()),
            },
            Err(errors) => Ok(Outcome::Broken(errors)),
        }
    }

    /// Compiles the tests of exercises at once. Returns their programs in the same order, or the compiler's errors. The
    /// features of the libraries below the chapters are those of the workspace's own tests: they are not built anew.
    fn build(
        &self,
        exercises: &[&Exercise],
        solution: bool,
        note: &dyn Fn(&str),
    ) -> Result<Result<Vec<PathBuf>, String>> {
        let format = if self.colour { "json-diagnostic-rendered-ansi" } else { "json" };
        let packages: BTreeSet<String> = exercises.iter().map(|e| e.package()).collect();
        let mut command = cargo();
        command.current_dir(&self.root).args(["test", "--no-run"]);
        command.args(packages.iter().flat_map(|package| ["-p", package]));
        if solution {
            let solved = packages.iter().map(|package| format!("{package}/solutions"));
            command.args(["--features", &solved.collect::<Vec<_>>().join(",")]);
        }
        let names: BTreeSet<String> = exercises.iter().map(|exercise| exercise.test()).collect();
        command
            .args(names.iter().flat_map(|name| ["--test", name]))
            .arg(format!("--message-format={format}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                anyhow!("cargo is not on PATH; install Rust from https://rustup.rs")
            }
            _ => anyhow!(error).context("can't start cargo"),
        })?;
        let (send, lines) = mpsc::channel();
        let readers = [
            read_lines(child.stdout.take(), Source::Stdout, send.clone()),
            read_lines(child.stderr.take(), Source::Stderr, send),
        ];
        let mut programs = vec![None; exercises.len()];
        let (mut errors, mut said) = (Vec::new(), Vec::new());
        for (source, line) in lines {
            let message: Value = match source {
                Source::Stdout => serde_json::from_str(&line).unwrap_or_default(),
                Source::Stderr => {
                    let line = plain(&line);
                    note(line.trim());
                    said.push(line);
                    continue;
                }
            };
            match message["reason"].as_str() {
                Some("compiler-message") if message["message"]["level"] == "error" => {
                    errors.push(
                        message["message"]["rendered"].as_str().unwrap_or_default().to_owned(),
                    );
                }
                Some("compiler-artifact") => {
                    let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
                    let is_of = |exercise: &&Exercise| {
                        manifest.ends_with(exercise.manifest())
                            && message["target"]["name"] == exercise.test().as_str()
                    };
                    if let Some(at) = exercises.iter().position(is_of)
                        && let Some(program) = message["executable"].as_str()
                    {
                        programs[at] = Some(PathBuf::from(program));
                    }
                }
                _ => {}
            }
        }
        for reader in readers {
            let _ = reader.join();
        }
        let status = child.wait().context("can't wait for cargo")?;
        match programs.into_iter().collect() {
            Some(programs) if status.success() => Ok(Ok(programs)),
            // The last "error" only counts the others.
            _ if !errors.is_empty() => {
                errors.retain(|error| !plain(error).starts_with("error: aborting due to"));
                Ok(Err(errors.join("\n")))
            }
            _ => match exercises {
                [one] if said.iter().any(|line| line.contains("no test target")) => {
                    bail!("{} has no `[[test]]` named `{}`", one.manifest(), one.test())
                }
                [one] => {
                    bail!("cargo could not build the test of {}: {}", one.id(), cause(&said))
                }
                _ => bail!("cargo could not build the exercises' tests: {}", cause(&said)),
            },
        }
    }

    /// Runs a compiled test.
    fn test(&self, exercise: &Exercise, program: &Path) -> Result<Outcome> {
        let folder = self.root.join("chapters").join(&exercise.chapter);
        let mut command = Command::new(program);
        command
            .arg("--show-output")
            .current_dir(&folder)
            .env("CARGO_MANIFEST_DIR", &folder)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child =
            command.spawn().with_context(|| format!("can't start {}", program.display()))?;
        let (send, lines) = mpsc::channel();
        let readers = [
            read_lines(child.stdout.take(), Source::Stdout, send.clone()),
            read_lines(child.stderr.take(), Source::Stderr, send),
        ];
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().context("can't wait for the test")? {
                break status;
            }
            if began.elapsed() > LIMIT {
                child.kill().context("can't stop the test")?;
                child.wait().context("can't wait for the test")?;
                return Ok(Outcome::Endless);
            }
            thread::sleep(Duration::from_millis(10));
        };
        for reader in readers {
            let _ = reader.join();
        }
        let text: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        let (failed, printed) = results(&text);
        if status.success() {
            return Ok(Outcome::Solved(printed));
        }
        if failed.is_empty() {
            // A stack overflow or an abort ends the program without a report.
            return Ok(Outcome::Failing(vec![(
                "the test's program ended".to_owned(),
                cause(&text),
            )]));
        }
        Ok(Outcome::Failing(failed))
    }

    /// [`Checker::run`] on the reader's file, unless nothing changed since it was last run.
    ///
    /// # Errors
    /// As [`Checker::run`].
    pub fn state(&self, exercise: &Exercise, note: &dyn Fn(&str)) -> Result<bool> {
        let key = self.key(exercise)?;
        if let Some(solved) = self.remembered(exercise, &key) {
            return Ok(solved);
        }
        let solved = self.run(exercise, false, note)?.is_solved();
        self.remember(exercise, &key, solved);
        Ok(solved)
    }

    /// Whether the exercise was solved when its test last ran; `None` if it or its chapter has changed since, or it never
    /// ran. Runs nothing.
    ///
    /// # Errors
    /// If a file of the exercise can't be read.
    pub fn known(&self, exercise: &Exercise) -> Result<Option<bool>> {
        Ok(self.remembered(exercise, &self.key(exercise)?))
    }

    /// [`Checker::run`] on the reader's file, remembered for [`Checker::state`].
    ///
    /// # Errors
    /// As [`Checker::run`].
    pub fn check(&self, exercise: &Exercise, note: &dyn Fn(&str)) -> Result<Outcome> {
        let key = self.key(exercise)?;
        let outcome = self.run(exercise, false, note)?;
        self.remember(exercise, &key, outcome.is_solved());
        Ok(outcome)
    }

    /// Stands for everything that the outcome depends on: the exercise, its test, the chapter's code.
    fn key(&self, exercise: &Exercise) -> Result<String> {
        let chapter = self.root.join("chapters").join(&exercise.chapter);
        let mut files =
            vec![exercise.file(), exercise.folder.join("test.rs"), chapter.join("Cargo.toml")];
        let mut sources = Vec::new();
        let mut open = vec![chapter.join("src")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() { open.push(path) } else { sources.push(path) }
            }
        }
        sources.sort();
        files.extend(sources);
        // The standard hasher with its fixed keys: enough to notice a change, and not kept for long.
        let mut hasher = std::hash::DefaultHasher::new();
        for file in files {
            hasher
                .write(&fs::read(&file).with_context(|| format!("can't read {}", file.display()))?);
        }
        Ok(format!("{:016x}", hasher.finish()))
    }

    fn memory(&self) -> PathBuf {
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), PathBuf::from);
        target.join("exercises.json")
    }

    fn remembered(&self, exercise: &Exercise, key: &str) -> Option<bool> {
        let memory: Value = serde_json::from_str(&fs::read_to_string(self.memory()).ok()?).ok()?;
        let entry = &memory[exercise.id()];
        if entry["key"] == key { entry["solved"].as_bool() } else { None }
    }

    /// Forgetting costs a run of the test, so a failure to write is no error.
    fn remember(&self, exercise: &Exercise, key: &str, solved: bool) {
        let file = self.memory();
        let old = fs::read_to_string(&file).ok();
        let mut memory: Map<String, Value> =
            old.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        memory.insert(exercise.id(), json!({"key": key, "solved": solved}));
        let part = file.with_extension("json.part");
        let text = Value::Object(memory).to_string();
        let _ = fs::write(&part, text).and_then(|()| fs::rename(&part, &file));
    }

    /// Proves for exercises that the stub compiles and fails, that the solution passes, that the two differ only between
    /// the marks, and that a page has it. Tells what came of each, in their order. Changes no file of the reader's.
    ///
    /// All stubs are compiled at once, and all solutions, as long as they compile; where one does not, or the manifest
    /// lacks one, each is compiled alone to find it.
    pub fn verify(
        &self,
        exercises: &[&Exercise],
        note: &dyn Fn(&str),
        tell: &mut dyn FnMut(&Exercise, Result<()>),
    ) {
        let built = |solution: bool| match self.build(exercises, solution, note) {
            Ok(Ok(programs)) => programs.into_iter().map(Some).collect(),
            Ok(Err(_)) | Err(_) => vec![None; exercises.len()],
        };
        let programs = built(false).into_iter().zip(built(true));
        for (exercise, (stub, solution)) in exercises.iter().zip(programs) {
            note(&exercise.id());
            let run = |program: Option<PathBuf>, solution: bool| match program {
                Some(program) => self.test(exercise, &program),
                None => self.run(exercise, solution, note),
            };
            let verified = in_order(exercise, || run(stub, false), || run(solution, true));
            tell(exercise, verified);
        }
    }
}

/// What does not hold of an exercise, whose stub and solution are run by these functions.
fn in_order(
    exercise: &Exercise,
    run_stub: impl FnOnce() -> Result<Outcome>,
    run_solution: impl FnOnce() -> Result<Outcome>,
) -> Result<()> {
    exercise.in_order()?;
    match run_stub()? {
        Outcome::Failing(_) => {}
        Outcome::Solved(_) => bail!("the stub passes its test"),
        Outcome::Broken(errors) => bail!("the stub does not compile:\n{errors}"),
        Outcome::Endless => bail!("the stub's test does not end in {} s", LIMIT.as_secs()),
    }
    match run_solution()? {
        Outcome::Solved(_) => Ok(()),
        Outcome::Failing(failed) => {
            let failed: Vec<String> =
                failed.iter().map(|(test, message)| format!("{test}: {message}")).collect();
            bail!("the solution fails its test: {}", failed.join("; "))
        }
        Outcome::Broken(errors) => bail!("the solution does not compile:\n{errors}"),
        Outcome::Endless => bail!("the solution's test does not end in {} s", LIMIT.as_secs()),
    }
}

/// The failed tests with what each says, and what the ones that passed printed, from a test program's
/// report.
fn results(lines: &[String]) -> (Vec<(String, String)>, String) {
    let mut said: HashMap<&str, Vec<&str>> = HashMap::new();
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    let mut section = None;
    for line in lines {
        if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            section = Some(name);
        } else if let Some(result) =
            line.strip_prefix("test ").filter(|line| !line.starts_with("result: "))
        {
            section = None;
            match result.rsplit_once(" ... ") {
                Some((name, "ok")) => passed.push(name),
                Some((name, result)) if result.starts_with("FAILED") => failed.push(name),
                _ => {}
            }
        } else if matches!(line.as_str(), "successes:" | "failures:")
            || line.starts_with("test result: ")
        {
            section = None;
        } else if let Some(name) = section {
            said.entry(name).or_default().push(line);
        }
    }
    let failed = failed
        .into_iter()
        .map(|name| (name.replace('_', " "), message(said.get(name).map_or(&[], Vec::as_slice))))
        .collect();
    let printed: Vec<String> = passed
        .iter()
        .filter_map(|name| said.get(name))
        .map(|lines| message(lines))
        .filter(|text| !text.is_empty())
        .collect();
    (failed, printed.join("\n"))
}

/// What a test printed and why it failed, without the lines that only serve Rust's own developers.
fn message(lines: &[&str]) -> String {
    const MOST: usize = 20;
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        if line.starts_with("note: run with")
            || (line.is_empty() && out.last().is_none_or(String::is_empty))
        {
            continue;
        }
        if line.starts_with("thread '")
            && let Some((_, place)) = line.split_once(" panicked at ")
        {
            // `chapters/01-matmul/exercises/loop-order/test.rs:43:5:` is `test.rs, line 43`.
            let file = place.rsplit(['/', '\\']).next().unwrap_or(place);
            let mut parts = file.split(':');
            let (file, number) =
                (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            out.push(format!("at {file}, line {number}:"));
            continue;
        }
        out.push((*line).to_owned());
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    if out.len() > MOST {
        let more = out.len() - MOST;
        out.truncate(MOST);
        out.push(format!("… and {more} more lines"));
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_report_is_told_in_short() {
        let report = "\nrunning 2 tests\ntest most_accesses_hit ... FAILED\ntest product_is_right ... ok\n\n\
            successes:\n\n---- product_is_right stdout ----\nall right\n\n\nsuccesses:\n    product_is_right\n\n\
            failures:\n\n---- most_accesses_hit stdout ----\nmisses: 7\n\n\
            thread 'most_accesses_hit' (71) panicked at chapters/a/exercises/b/test.rs:43:5:\n\
            assertion `left == right` failed: too many\n  left: 7\n right: 3\n\
            note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\n\
            failures:\n    most_accesses_hit\n\ntest result: FAILED. 1 passed; 1 failed\n";
        let (failed, printed) = results(&lines(report));
        assert_eq!(printed, "all right");
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].0, "most accesses hit");
        assert_eq!(
            failed[0].1,
            "misses: 7\n\nat test.rs, line 43:\nassertion `left == right` failed: too many\n  left: 7\n right: 3"
        );
    }

    #[test]
    fn long_messages_are_cut() {
        let many: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let short = message(&many);
        assert_eq!(short.lines().count(), 21);
        assert!(short.ends_with("… and 80 more lines"), "{short}");
    }

    #[test]
    fn readmes_are_read_and_wrong_ones_refused() {
        let right = "# Add\n\n10 minutes · level 1 of 3\n\nDo it.\n\nWell.\n\n## Hint 1\n\nUse `+`.\n\n## Hint 2\n\nOh.\n\n## Solution\n\nSo.\n";
        let readme = parse(right).unwrap();
        assert_eq!(
            (
                readme.title.as_str(),
                readme.effort.as_str(),
                readme.task.as_str(),
                readme.solution.as_str()
            ),
            ("Add", "10 minutes · level 1 of 3", "Do it.\n\nWell.", "So.")
        );
        assert_eq!(readme.hints, ["Use `+`.", "Oh."]);
        for (from, to) in [
            ("# Add", "Add"),
            ("10 minutes · level 1 of 3", "Quick."),
            ("Do it.\n\nWell.", ""),
            ("## Hint 1", "## Help 1"),
            ("## Solution", "## Hint 3"),
        ] {
            assert!(parse(&right.replace(from, to)).is_err(), "{from} → {to}");
        }
    }
}
