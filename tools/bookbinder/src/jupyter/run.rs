//! A notebook's cells in a new kernel.

use super::{
    folder::Jupyter,
    outputs::{failure, tidied},
};
use crate::{
    notebook::{Kind, Notebook, Ran, Runs},
    process::{self, Source, cause},
};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use std::{
    io::Write as _,
    path::Path,
    process::{ChildStdin, Stdio},
    time::{Duration, Instant},
};

/// The longest that a cell may take; the first one may have to compile the chapters.
const CELL_LIMIT: Duration = Duration::from_hours(1);

/// What happened while a notebook ran.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// The kernel is up.
    Kernel,
    /// The cell with this index starts.
    Cell(usize),
    /// The kernel compiles a crate.
    Compiling(&'a str),
}

/// A notebook that ran to its end.
#[derive(Clone, Debug)]
pub struct Run {
    /// The notebook with its outputs.
    pub notebook: Notebook,
    /// Seconds from the start of Python until the kernel was up.
    pub kernel: f64,
    /// Seconds that each code cell took, with its index among all cells.
    pub cells: Vec<(usize, f64)>,
}

impl Jupyter {
    /// Runs a notebook's cells in a new kernel.
    ///
    /// # Errors
    /// If it is not set up, the kernel dies, or a cell fails: with the cell and the compiler's message.
    pub fn run(&self, notebook: &Notebook, name: &str, tell: impl FnMut(Event)) -> Result<Run> {
        self.ready()?;
        let mut python = self.command();
        python
            .arg(self.folder.join("execute.py"))
            .arg(self.root.join("notebooks"))
            .arg(CELL_LIMIT.as_secs().to_string())
            .stdin(Stdio::piped());
        let (mut child, lines) = process::start(&mut python)?;
        let mut input = child.stdin.take().ok_or_else(|| anyhow!("Python takes no input"))?;
        // If Python dies at once, its message is worth more than the broken pipe.
        let line = serde_json::from_str::<Value>(&notebook.json()?)?.to_string();
        let _ = writeln!(input, "{line}");
        let mut notebook = notebook.clone();
        notebook.ran = Some(Ran::here());
        let run = Run { notebook, kernel: 0.0, cells: Vec::new() };
        let mut running = Running {
            run,
            name,
            root: &self.root,
            began: Instant::now(),
            input: Some(input),
            failed: None,
            dead: None,
            said: Vec::new(),
            tell,
        };
        for (source, line) in lines {
            running.hear(source, line);
        }
        let status = child.wait().context("can't wait for Python")?;
        running.ended(status.success())
    }
}

/// A notebook that is running.
struct Running<'a, F> {
    run: Run,
    name: &'a str,
    root: &'a Path,
    began: Instant,
    /// Where Python waits for the word to go on.
    input: Option<ChildStdin>,
    failed: Option<anyhow::Error>,
    dead: Option<String>,
    /// What was printed that is no event.
    said: Vec<String>,
    tell: F,
}

impl<F: FnMut(Event)> Running<'_, F> {
    /// A line of Python's.
    fn hear(&mut self, source: Source, line: String) {
        if source == Source::Stderr
            && let Some(krate) = line.trim().strip_prefix("Compiling ")
        {
            (self.tell)(Event::Compiling(krate.split(" (").next().unwrap_or(krate)));
            return;
        }
        match serde_json::from_str::<Value>(&line) {
            Ok(event) if source == Source::Stdout => self.event(&event),
            _ => self.said.push(line),
        }
    }

    fn event(&mut self, event: &Value) {
        let index = event["cell"].as_u64().map(|index| index as usize);
        match (event["event"].as_str(), index.unwrap_or(0)) {
            (Some("kernel"), _) => {
                self.run.kernel = self.began.elapsed().as_secs_f64();
                (self.tell)(Event::Kernel);
            }
            (Some("start"), index) => (self.tell)(Event::Cell(index)),
            (Some("end"), index) => {
                self.run.cells.push((index, event["seconds"].as_f64().unwrap_or(0.0)));
                let outputs = event["outputs"].as_array().cloned().unwrap_or_default();
                match keep(&mut self.run.notebook, index, outputs, self.root) {
                    Ok(()) => {
                        if let Some(input) = &mut self.input {
                            let _ = writeln!(input, "go");
                        }
                    }
                    Err(error) => {
                        let cell = named(&self.run.notebook, index);
                        self.failed = Some(error.context(format!("{}, {cell}", self.name)));
                        // Without more to read, Python stops the kernel and ends.
                        self.input = None;
                    }
                }
            }
            (Some("dead"), _) => {
                let why = event["why"].as_str().unwrap_or("the kernel died");
                let cell = index.map(|index| format!(", {}", named(&self.run.notebook, index)));
                self.dead = Some(format!("{}{}: {why}", self.name, cell.unwrap_or_default()));
            }
            _ => {}
        }
    }

    /// What came of it.
    fn ended(mut self, well: bool) -> Result<Run> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Some(dead) = self.dead {
            let said = &self.said;
            let why = if said.is_empty() { String::new() } else { format!(" ({})", cause(said)) };
            bail!("{dead}{why}");
        }
        if !well || self.run.cells.len() != self.run.notebook.code_cells().count() {
            bail!("{} did not run to its end: {}", self.name, cause(&self.said));
        }
        let seconds: f64 = self.run.cells.iter().map(|(_, seconds)| seconds).sum();
        if let Some(ran) = &mut self.run.notebook.ran {
            ran.seconds = Some(seconds.ceil() as u64);
        }
        Ok(self.run)
    }
}

/// `cell 7 (`let c = …`)`, counted among the code cells.
fn named(notebook: &Notebook, index: usize) -> String {
    let number = notebook.cells[..=index.min(notebook.cells.len() - 1)]
        .iter()
        .filter(|cell| matches!(cell.kind, Kind::Code { .. }))
        .count();
    let line =
        notebook.cells.get(index).and_then(|cell| cell.source.lines().next()).unwrap_or_default();
    format!("code cell {number} (`{line}`)")
}

/// Puts a cell's outputs into the notebook, without what changes from machine to machine.
fn keep(notebook: &mut Notebook, index: usize, outputs: Vec<Value>, root: &Path) -> Result<()> {
    let Some(Kind::Code { runs, .. }) = notebook.cells.get(index).map(|cell| &cell.kind) else {
        bail!("Jupyter ran a cell that the notebook does not have");
    };
    let (runs, found) = (*runs, failure(&outputs));
    notebook.has_run(index, tidied(outputs, root));
    match (found, runs) {
        (Some(message), Runs::Along | Runs::Draws | Runs::Asked) => bail!("it failed:\n{message}"),
        (None, Runs::Fails) => bail!("it is marked as one that fails, but it did not"),
        _ => Ok(()),
    }
}
