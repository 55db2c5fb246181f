//! `notebooks`: Jupyter with the Rust kernel, and the pages as notebooks.

use crate::{chapters, course};
use anyhow::{Result, bail};
use bookbinder::{
    Binder,
    exercises::{self, Checker},
    jupyter::{Event, Jupyter, Run},
    notebook::{self, Change, Kind, MINE, Notebook},
};
use clap::{Args, Subcommand};
use lab::{files::inside, names, out::say, progress::Progress};
use std::path::{Path, PathBuf};

/// The subcommands of `notebooks`.
#[derive(Subcommand)]
pub enum Notebooks {
    /// Install Jupyter and the Rust kernel into notebooks/.jupyter (once; takes some ten minutes on two cores)
    ///
    /// Everything goes into one folder, which can be deleted: a Python environment, the kernel
    /// `evcxr_jupyter` (unless cargo has installed it before) and the settings of both. What is there is
    /// kept, and an interrupted installation goes on where it stopped.
    #[command(after_help = "\
Examples:
  cargo run -- notebooks setup               all that is needed to run the notebooks in a browser
  cargo run -- notebooks setup --headless    without JupyterLab: enough for `notebooks run`")]
    Setup(Setup),
    /// Open your notebooks in JupyterLab
    ///
    /// They are copies, in the folder my-notebooks, which git leaves alone. What the course's machine printed is hidden in
    /// them until you run a cell. One that you have changed is kept when its page changes.
    #[command(after_help = "\
Examples:
  cargo run -- notebooks open                        the three doors, all chapters, and what you have solved
  cargo run -- notebooks open 01-matmul              one notebook
  cargo run -- notebooks open 01-matmul --reset      the course's in place of your copy
  cargo run -- notebooks open -- --no-browser        arguments behind -- go to JupyterLab")]
    Open(Open),
    /// Execute the notebooks with the Rust kernel; the first cell that fails is shown
    #[command(after_help = "\
Examples:
  cargo run -- notebooks run                         all that the pages make, into target/notebooks
  cargo run -- notebooks run 01-matmul --in-place    one, and keep what it printed")]
    Run(Execute),
    /// Make the notebooks from the pages again; outputs of cells that did not change are kept
    ///
    /// A notebook that was changed by hand stays as it is, and so do notebooks of your own.
    #[command(after_help = "\
Examples:
  cargo run -- notebooks sync            after a change to a page
  cargo run -- notebooks sync --check    write nothing; fail if a notebook is not what its page makes")]
    Sync(Sync),
}

/// How to install Jupyter.
#[derive(Args)]
pub struct Setup {
    /// Leave out JupyterLab, which shows the notebooks in a browser
    #[arg(long)]
    headless: bool,
}

/// What to open.
#[derive(Args)]
pub struct Open {
    /// The notebook, such as 01-matmul; where to begin otherwise
    name: Option<String>,
    /// Take the course's notebook in place of your copy
    #[arg(long, requires = "name")]
    reset: bool,
    /// More arguments for JupyterLab
    #[arg(last = true)]
    more: Vec<String>,
}

/// What to execute.
#[derive(Args)]
pub struct Execute {
    /// The notebook, such as 01-matmul or 1; all that the pages make otherwise
    name: Option<String>,
    /// Keep the outputs in notebooks/, where the book quotes them; otherwise they go to target/notebooks
    #[arg(long)]
    in_place: bool,
    /// With --in-place, keep what cells have printed before, and add what those print that have no output
    #[arg(long, requires = "in_place")]
    missing: bool,
}

/// How to bring the notebooks up to the pages.
#[derive(Args)]
pub struct Sync {
    /// Write nothing, and fail if something would have to be written
    #[arg(long)]
    check: bool,
    /// With --check, fail also if a notebook was changed by hand or most of its cells have printed nothing
    #[arg(long, requires = "check")]
    strict: bool,
}

impl Notebooks {
    /// Runs the subcommand.
    pub fn run(self) -> Result<()> {
        let root = course::root()?;
        match self {
            Self::Setup(setup) => {
                let jupyter = Jupyter::new(&root);
                say(
                    "Three steps, in all some ten minutes on two cores: Python packages, the Rust kernel, its first start.",
                );
                jupyter.set_up(!setup.headless)?;
                let next = if setup.headless { "run" } else { "open" };
                say(&format!(
                    "Jupyter is ready in {}; go on with `cargo run -- notebooks {next}`",
                    jupyter.folder().display()
                ));
                Ok(())
            }
            Self::Open(open) => open.run(&root),
            Self::Run(execute) => execute.run(&root),
            Self::Sync(sync) => sync.run(&root),
        }
    }
}

impl Open {
    fn run(&self, root: &Path) -> Result<()> {
        let jupyter = Jupyter::new(root);
        jupyter.ready()?;
        let folder = root.join(MINE);
        let reset = self.name.as_deref().filter(|_| self.reset);
        let reset = reset.map(|name| find(&root.join("notebooks"), name)).transpose()?;
        for name in notebook::bring(root, reset.as_ref().map(|(name, _)| name.as_str()))? {
            say(&format!(
                "{MINE}/{name}.ipynb: yours, kept as it is; its page has changed, and `cargo run -- notebooks open {name} --reset` \
                 takes what it makes"
            ));
        }
        if let Some(name) = &self.name {
            return jupyter.open(&find(&folder, name)?.0, &self.more);
        }
        let binder = Binder::open(root, chapters::all(), &course::records()?)?;
        let (exercises, checker) = (exercises::all(root)?, Checker::new(root));
        let solved = |chapter: &str| {
            let here = exercises.iter().filter(|exercise| exercise.chapter == chapter);
            let done = here.clone().filter(|one| matches!(checker.known(one), Ok(Some(true))));
            format!("Exercises solved: {} of {}.", done.count(), here.count())
        };
        let start = notebook::start(root, &binder.pages()?, solved)?;
        notebook::bring_start(root, &start)?;
        jupyter.open(notebook::START, &self.more)
    }
}

impl Sync {
    fn run(&self, root: &Path) -> Result<()> {
        let binder = Binder::open(root, chapters::all(), &course::records()?)?;
        let changes = notebook::sync(root, &binder.pages()?, self.check)?;
        let mut stale = Vec::new();
        for (name, change) in changes {
            let file = format!("notebooks/{name}.ipynb");
            if self.strict
                && change == Change::Same
                && !has_run(&Notebook::read(&root.join(&file))?)
            {
                stale.push(format!("{file} (most of its cells have printed nothing)"));
            }
            match change {
                Change::Same => say(&format!("{file}: as its page")),
                Change::Changed(why) if self.check => stale.push(format!("{file} ({why})")),
                Change::Changed(why) => say(&format!("{file}: written ({why})")),
                Change::Yours(why) if self.strict => {
                    stale.push(format!("{file} (changed by hand, which `sync` keeps: {why})"));
                }
                Change::Yours(why) => {
                    say(&format!("{file}: changed by hand, kept as it is ({why})"));
                }
                Change::Leftover if self.check => stale.push(format!("{file} (no page makes it)")),
                Change::Leftover => say(&format!("{file}: removed, no page makes it any more")),
            }
        }
        if !stale.is_empty() {
            bail!(
                "not what the pages make: {}; run `cargo run -- notebooks sync`, then `notebooks run --in-place`",
                stale.join(", ")
            );
        }
        Ok(())
    }
}

/// Cells that define something print nothing; of all others a notebook keeps what they printed.
fn has_run(notebook: &Notebook) -> bool {
    5 * notebook.code_cells().filter(|cell| cell.printed()).count()
        >= 2 * notebook.code_cells().count()
}

impl Execute {
    fn run(&self, root: &Path) -> Result<()> {
        let jupyter = Jupyter::new(root);
        jupyter.ready()?;
        if self.in_place {
            jupyter.measures()?;
        }
        // Whoever runs all does not mean notebooks of their own.
        let ours = notebook::of_the_pages(root);
        let found = match &self.name {
            Some(name) => vec![find(&root.join("notebooks"), name)?],
            None if ours.is_empty() => bail!("{NONE}"),
            None => ours.clone(),
        };
        if self.in_place
            && let Some((name, _)) = found.iter().find(|notebook| !ours.contains(notebook))
        {
            bail!("{name} is yours: --in-place writes only what the pages made; leave it out");
        }
        for (name, file) in found {
            let mut notebook = Notebook::read(&file)?;
            let run = execute(&jupyter, &name, &notebook)?;
            let out = if self.in_place {
                file
            } else {
                root.join("target/notebooks").join(format!("{name}.ipynb"))
            };
            if self.missing {
                notebook.take_missing_of(&run.notebook);
            } else {
                notebook.clone_from(&run.notebook);
            }
            notebook::write(&out, &notebook)?;
            let cells: f64 = run.cells.iter().map(|(_, seconds)| seconds).sum();
            let slowest = run.cells.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
            let slowest = slowest.map_or_else(String::new, |(index, seconds)| {
                let line = run.notebook.cells[*index].source.lines().next().unwrap_or_default();
                format!("; the slowest, `{line}`, in {seconds:.1} s")
            });
            say(&format!(
                "{name}: kernel in {:.1} s, {} cells in {cells:.1} s{slowest}; in {}",
                run.kernel,
                run.cells.len(),
                out.strip_prefix(root).unwrap_or(&out).display()
            ));
        }
        Ok(())
    }
}

/// Runs one notebook and shows how far it is.
fn execute(jupyter: &Jupyter, name: &str, notebook: &Notebook) -> Result<Run> {
    let progress = Progress::new(name, notebook.code_cells().count() as u64);
    progress.note("starting the kernel");
    let mut first = true;
    let run = jupyter.run(notebook, name, |event| match event {
        Event::Kernel => progress.note("the kernel is up"),
        Event::Cell(index) => {
            if !std::mem::take(&mut first) {
                progress.inc(1);
            }
            let cell = &notebook.cells[index];
            if matches!(cell.kind, Kind::Code { .. }) {
                progress.note(cell.source.lines().next().unwrap_or_default());
            }
        }
        Event::Compiling(krate) => progress.note(&format!("compiling {krate}")),
    });
    if run.is_ok() {
        progress.inc(1);
        progress.finish();
    }
    run
}

/// What to do where there are no notebooks.
const NONE: &str = "there are no notebooks yet; run `cargo run -- notebooks sync`";

/// The notebook of the folder that `name` means (`1`, `matmul`, `01-matmul`, `01-matmul.ipynb`), and its file.
fn find(folder: &Path, name: &str) -> Result<(String, PathBuf)> {
    let mut all: Vec<(String, PathBuf)> = inside(folder)
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "ipynb"))
        .filter_map(|file| Some((file.file_stem()?.to_str()?.to_owned(), file)))
        .collect();
    if all.is_empty() {
        bail!("{NONE}");
    }
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = name.strip_suffix(".ipynb").unwrap_or(name);
    Ok(all.swap_remove(names::chapter("notebook", wanted, &names)?))
}
