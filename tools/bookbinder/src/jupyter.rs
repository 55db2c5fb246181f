//! Jupyter with the Rust kernel, in a folder of its own.
//!
//! [`Jupyter::set_up`] makes the folder: a Python environment with Jupyter, the kernel `evcxr_jupyter`, and
//! settings for both. Nothing of it lies elsewhere except what pip and cargo download, which they keep
//! in their usual caches. Deleting the folder removes it all.
//!
//! ```text
//! notebooks/.jupyter/
//!   venv/                          Python, nbclient, JupyterLab
//!   bin/evcxr_jupyter              the kernel, unless cargo has installed this version before
//!   share/jupyter/kernels/rust/    how Jupyter starts it
//!   slots/0, 1, …                  where a running kernel compiles; kept, so that crates compile once
//! ```

use crate::notebook::{Kind, Notebook, Runs};
use anyhow::{Context, Result, anyhow, bail};
use lab::progress::Progress;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    env,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The version of the kernel that the notebooks are made with.
pub const KERNEL: &str = "0.22.0";

/// How many crates the kernel is made of, for the bar.
const KERNEL_CRATES: u64 = 273;

/// What runs notebooks.
const RUNNER: &[&str] = &["nbclient>=0.10.2,<0.12"];

/// What shows them in a browser.
const LAB: &[&str] = &["jupyterlab>=4.2,<5"];

/// The longest that a cell may take; the first one may have to compile the chapters.
const CELL_LIMIT: Duration = Duration::from_mins(15);

const EXECUTE: &str = include_str!("jupyter/execute.py");
/// `jupyter trust`, without looking for the program.
const TRUST: &str =
    "from nbformat.sign import TrustNotebookApp; TrustNotebookApp.launch_instance()";

const LAUNCH: &str = include_str!("jupyter/launch.py");

/// Cargo's settings for what notebooks load: the code that the chapters measure, as fast as in the
/// course's own command. A cell itself is compiled as evcxr says.
const CARGO_CONFIG: &str = "\
[profile.dev.package.\"*\"]
opt-level = 3
debug-assertions = false
overflow-checks = false
";

/// `JupyterLab` asks nobody outside this machine for news or updates.
const LAB_SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": {"checkForUpdates": false, "fetchNews": "false"}
}
"#;

/// The command that makes all this.
const SET_UP: &str = "cargo run --release -- notebooks setup";

/// A folder with Jupyter in it, or where it will be.
#[derive(Clone, Debug)]
pub struct Jupyter {
    root: PathBuf,
    folder: PathBuf,
}

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
    /// The folder `notebooks/.jupyter` of the course in `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), folder: root.join("notebooks/.jupyter") }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Python's own program in the folder.
    fn python(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" })
    }

    fn kernels(&self) -> PathBuf {
        self.folder.join("share/jupyter")
    }

    /// Whether it is set up.
    ///
    /// # Errors
    /// If something is missing: a sentence that says what, with the command that makes it.
    pub fn ready(&self) -> Result<()> {
        if !self.python().is_file() || !self.folder.join("packages.txt").is_file() {
            bail!("Jupyter is not set up in {}; run `{SET_UP}`", self.folder.display());
        }
        if self.kernel().is_none() || !self.kernels().join("kernels/rust/kernel.json").is_file() {
            bail!("the Rust kernel is not set up in {}; run `{SET_UP}`", self.folder.display());
        }
        Ok(())
    }

    /// The kernel: in the folder, or installed by cargo elsewhere on the path, in the right version.
    fn kernel(&self) -> Option<PathBuf> {
        let program = format!("evcxr_jupyter{}", env::consts::EXE_SUFFIX);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.join("bin")].into_iter().chain(env::split_paths(&path));
        folders.map(|bin| bin.join(&program)).find(|program| {
            // Cargo notes beside `bin` what it has installed there, and which version.
            let notes =
                program.parent().and_then(Path::parent).map(|root| root.join(".crates.toml"));
            let notes = notes.and_then(|notes| fs::read_to_string(notes).ok()).unwrap_or_default();
            program.is_file() && notes.contains(&format!("\"evcxr_jupyter {KERNEL} "))
        })
    }

    /// What Jupyter's programs need to know so that they use the folder and touch nothing outside it.
    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&str, OsString)> = [
            ("JUPYTER_PATH", "share/jupyter"),
            ("JUPYTER_DATA_DIR", "share/jupyter"),
            ("JUPYTER_CONFIG_DIR", "config"),
            ("JUPYTER_RUNTIME_DIR", "runtime"),
            ("IPYTHONDIR", "ipython"),
            ("EVCXR_CONFIG_DIR", "evcxr"),
        ]
        .into_iter()
        .map(|(name, below)| (name, self.folder.join(below).into_os_string()))
        .collect();
        // The kernel runs in the notebook's folder: a relative path would lead elsewhere there.
        if let Some(data) = env::var_os("MNIST_DIR")
            && let Ok(data) = std::path::absolute(data)
        {
            variables.push(("MNIST_DIR", data.into_os_string()));
        }
        variables
    }

    /// A Python of the folder with the right environment.
    fn command(&self) -> Command {
        let mut command = Command::new(self.python());
        command.envs(self.environment());
        // What cargo tells the program that it runs is not meant for the kernel's own cargo.
        for name in [
            "CARGO",
            "CARGO_MANIFEST_DIR",
            "CARGO_TARGET_DIR",
            "RUSTFLAGS",
            "PYTHONPATH",
            "PYTHONHOME",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Makes what is missing. `lab` is whether to install `JupyterLab`, which shows notebooks in a
    /// browser.
    /// An interrupted run goes on where it stopped.
    ///
    /// # Errors
    /// Without Python 3, cargo, a network or room on the disk; each is one sentence with the way out.
    pub fn set_up(&self, lab: bool) -> Result<()> {
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("can't make the folder {}", self.folder.display()))?;
        self.make_python(lab)?;
        let kernel = match self.kernel() {
            Some(kernel) => {
                eprintln!("Rust kernel: evcxr_jupyter {KERNEL} is there ({})", kernel.display());
                kernel
            }
            None => self.install_kernel()?,
        };
        self.configure(&kernel)?;
        self.warm_up()
    }

    /// The Python environment and its packages.
    fn make_python(&self, lab: bool) -> Result<()> {
        let mut packages: Vec<&str> = RUNNER.to_vec();
        let noted = self.folder.join("packages.txt");
        let old = fs::read_to_string(&noted).unwrap_or_default();
        if lab || LAB.iter().all(|package| old.contains(package)) {
            packages.extend(LAB);
        }
        let list = packages.join("\n") + "\n";
        if old == list && self.python().is_file() {
            eprintln!("Python packages: there");
            return Ok(());
        }
        let uv = works("uv", &["--version"]);
        if !self.python().is_file() {
            self.make_environment(uv)?;
        }
        let began = Instant::now();
        let wait = Progress::spinner("Python packages");
        let mut install = if uv {
            let mut install = Command::new("uv");
            install.args(["pip", "install", "--python"]).arg(self.python());
            install
        } else {
            let mut install = self.command();
            install.args([
                "-m",
                "pip",
                "install",
                "--progress-bar=off",
                "--disable-pip-version-check",
            ]);
            install
        };
        let mut count = 0;
        let (status, lines) = watch(install.args(&packages), |line| {
            if let Some(package) = line.trim().strip_prefix("Collecting ") {
                count += 1;
                wait.note(&format!("{count}: {package}"));
            } else if line.starts_with("Installing") {
                wait.note("installing");
            }
        })?;
        if !status.success() {
            bail!("the Python packages could not be installed: {}", cause(&lines));
        }
        wait.finish();
        fs::write(&noted, list).with_context(|| format!("can't write {}", noted.display()))?;
        eprintln!("Python packages: installed in {} s", began.elapsed().as_secs());
        Ok(())
    }

    fn make_environment(&self, uv: bool) -> Result<()> {
        let venv = self.folder.join("venv");
        if uv {
            let (status, lines) =
                watch(Command::new("uv").args(["venv", "--clear"]).arg(&venv), |_| {})?;
            if status.success() {
                return Ok(());
            }
            bail!("uv could not make a Python environment: {}", cause(&lines));
        }
        let python = python().ok_or_else(|| {
            anyhow!(
                "there is no Python 3.9 or newer here, which Jupyter needs; install it (Debian and Ubuntu: \
                 `sudo apt install python3 python3-venv`, macOS: `brew install python`) and run `{SET_UP}` again"
            )
        })?;
        let mut make = Command::new(python);
        make.args(["-m", "venv", "--clear"]).arg(&venv).env_remove("PYTHONHOME");
        let (status, lines) = watch(&mut make, |_| {})?;
        if !status.success() {
            // A half-made environment would be taken for a whole one.
            let _ = fs::remove_dir_all(&venv);
            bail!("Python could not make an environment: {}", cause(&lines));
        }
        Ok(())
    }

    /// Compiles the kernel, which takes minutes.
    fn install_kernel(&self) -> Result<PathBuf> {
        let build = self.folder.join("build");
        let before = compiled(&build);
        let began = Instant::now();
        let wait = Progress::new("Rust kernel", KERNEL_CRATES);
        wait.inc(before);
        let mut install = cargo();
        install
            .args(["install", "evcxr_jupyter", "--locked", "--version", KERNEL, "--root"])
            .arg(&self.folder)
            .arg("--target-dir")
            .arg(&build)
            .env_remove("RUSTFLAGS");
        let mut done = before;
        let (status, lines) = watch(&mut install, |line| {
            if let Some(krate) = line.trim().strip_prefix("Compiling ") {
                if done < KERNEL_CRATES {
                    wait.inc(1);
                    done += 1;
                }
                wait.note(krate);
            } else if line.contains("Download") {
                wait.note("downloading");
            }
        })?;
        if !status.success() {
            bail!(
                "the Rust kernel could not be installed: {}; what is compiled is kept, `{SET_UP}` goes on from there",
                cause(&lines)
            );
        }
        wait.finish();
        let seconds = began.elapsed().as_secs();
        eprintln!(
            "Rust kernel: evcxr_jupyter {KERNEL} installed in {} min {} s",
            seconds / 60,
            seconds % 60
        );
        fs::remove_dir_all(&build).with_context(|| format!("can't remove {}", build.display()))?;
        self.kernel().ok_or_else(|| {
            anyhow!("cargo installed the Rust kernel, but it is not in {}", self.folder.display())
        })
    }

    /// Writes the settings: they are cheap and hold absolute paths, so each set-up writes them again.
    fn configure(&self, kernel: &Path) -> Result<()> {
        // The kernel installs its icons and the note of its version; it reads where from `JUPYTER_PATH`.
        let mut install = Command::new(kernel);
        install.arg("--install").env("JUPYTER_PATH", self.kernels());
        let (status, lines) = watch(&mut install, |_| {})?;
        if !status.success() {
            bail!("the Rust kernel does not start: {}", cause(&lines));
        }
        let spec = json!({
            "argv": [
                self.python(),
                self.folder.join("launch.py"),
                kernel,
                self.root.join("Cargo.lock"),
                "{connection_file}",
            ],
            "display_name": "Rust",
            "language": "rust",
            "interrupt_mode": "message",
            // The same when another program than this one starts the kernel.
            "env": {
                "EVCXR_CONFIG_DIR": self.folder.join("evcxr"),
                "JUPYTER_PATH": self.kernels(),
            },
        });
        let spec = serde_json::to_string_pretty(&spec)?;
        for (below, text) in [
            ("launch.py", LAUNCH),
            ("execute.py", EXECUTE),
            (".cargo/config.toml", CARGO_CONFIG),
            ("share/jupyter/kernels/rust/kernel.json", &spec),
            ("venv/share/jupyter/lab/settings/overrides.json", LAB_SETTINGS),
        ] {
            let file = self.folder.join(below);
            let wrote = file
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&file, text));
            wrote.with_context(|| format!("can't write {}", file.display()))?;
        }
        for below in ["config", "runtime", "evcxr"] {
            let folder = self.folder.join(below);
            fs::create_dir_all(&folder)
                .with_context(|| format!("can't make {}", folder.display()))?;
        }
        Ok(())
    }

    /// Starts the kernel with what each notebook loads, so that a reader's first cell does not have to
    /// compile it. Each on its own: what a crate is compiled with depends on what else is loaded.
    fn warm_up(&self) -> Result<()> {
        let mut tests = Vec::new();
        for entry in fs::read_dir(self.root.join("notebooks")).into_iter().flatten().flatten() {
            let file = entry.path();
            if file.extension().is_some_and(|extension| extension == "ipynb") {
                let notebook = Notebook::read(&file)?;
                let code = notebook.code_cells().flat_map(|cell| cell.source.lines());
                tests.push(
                    code.filter(|line| line.starts_with(":dep ")).collect::<Vec<_>>().join("\n"),
                );
            }
        }
        if tests.is_empty() {
            tests.push(String::new());
        }
        tests.sort();
        tests.dedup();
        let began = Instant::now();
        for loads in tests {
            let mut test = Notebook::default();
            test.push_code(&loads);
            test.push_code("println!(\"{}\", 6 * 7);");
            let wait = Progress::spinner("Rust kernel's first start");
            let run = self.run(&test, "the kernel's test", |event| {
                if let Event::Compiling(krate) = event {
                    wait.note(&format!("compiling {krate}"));
                }
            });
            let run = run?;
            wait.finish();
            let answered = run.notebook.code_cells().any(|cell| match &cell.kind {
                Kind::Code { outputs, .. } => {
                    outputs.iter().any(|output| output.to_string().contains("42"))
                }
                Kind::Markdown => false,
            });
            if !answered {
                bail!(
                    "the Rust kernel starts, but does not answer; delete {} and run `{SET_UP}` again",
                    self.folder.display()
                );
            }
        }
        eprintln!(
            "Rust kernel: it answers, and what the notebooks load is compiled ({} s)",
            began.elapsed().as_secs()
        );
        Ok(())
    }

    /// Runs a notebook's cells in a new kernel.
    ///
    /// # Errors
    /// If it is not set up, the kernel dies, or a cell fails: with the cell and the compiler's message.
    pub fn run(&self, notebook: &Notebook, name: &str, mut tell: impl FnMut(Event)) -> Result<Run> {
        self.ready()?;
        let folder = self.root.join("notebooks");
        let began = Instant::now();
        let mut child = self
            .command()
            .arg(self.folder.join("execute.py"))
            .arg(&folder)
            .arg(CELL_LIMIT.as_secs().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("can't start {}", self.python().display()))?;
        let (send, lines) = mpsc::channel();
        let readers = [
            read_lines(child.stdout.take(), Source::Stdout, send.clone()),
            read_lines(child.stderr.take(), Source::Stderr, send),
        ];
        let mut input = child.stdin.take().ok_or_else(|| anyhow!("Python takes no input"))?;
        // If Python dies at once, what it says is worth more than the broken pipe.
        let line = serde_json::from_str::<Value>(&notebook.json()?)?.to_string();
        let _ = writeln!(input, "{line}");
        let mut input = Some(input);

        let mut run = Run { notebook: notebook.clone(), kernel: 0.0, cells: Vec::new() };
        let (mut failed, mut dead, mut said) = (None, None, Vec::new());
        for (source, line) in lines {
            if source == Source::Stderr {
                if let Some(krate) = line.trim().strip_prefix("Compiling ") {
                    let krate = krate.split(" (").next().unwrap_or(krate);
                    tell(Event::Compiling(krate));
                }
                said.push(line);
                continue;
            }
            let Ok(event) = serde_json::from_str::<Value>(&line) else {
                said.push(line);
                continue;
            };
            let index = event["cell"].as_u64().unwrap_or(0) as usize;
            match event["event"].as_str() {
                Some("kernel") => {
                    run.kernel = began.elapsed().as_secs_f64();
                    tell(Event::Kernel);
                }
                Some("start") => tell(Event::Cell(index)),
                Some("end") => {
                    run.cells.push((index, event["seconds"].as_f64().unwrap_or(0.0)));
                    let outputs = event["outputs"].as_array().cloned().unwrap_or_default();
                    match keep(&mut run.notebook, index, outputs, &self.root) {
                        Ok(()) => {
                            if let Some(input) = &mut input {
                                let _ = writeln!(input, "go");
                            }
                        }
                        Err(error) => {
                            failed =
                                Some(error.context(format!("{name}, {}", named(notebook, index))));
                            // Without more to read, Python stops the kernel and ends.
                            input = None;
                        }
                    }
                }
                Some("dead") => {
                    let why = event["why"].as_str().unwrap_or("the kernel died");
                    let cell = event["cell"]
                        .as_u64()
                        .map_or_else(String::new, |_| format!(", {}", named(notebook, index)));
                    dead = Some(format!("{name}{cell}: {why}"));
                }
                _ => {}
            }
        }
        for reader in readers {
            let _ = reader.join();
        }
        let status = child.wait().context("can't wait for Python")?;
        if let Some(error) = failed {
            return Err(error);
        }
        said.retain(|line| !line.trim_start().starts_with("Compiling "));
        if let Some(dead) = dead {
            let why = if said.is_empty() { String::new() } else { format!(" ({})", cause(&said)) };
            bail!("{dead}{why}");
        }
        let wanted = notebook.code_cells().count();
        if !status.success() || run.cells.len() != wanted {
            bail!("{name} did not run to its end: {}", cause(&said));
        }
        Ok(run)
    }

    /// Opens `JupyterLab` in the browser. Where the system allows, this program ends there and `JupyterLab`
    /// takes its place.
    ///
    /// # Errors
    /// If it is not set up, or `JupyterLab` fails.
    pub fn open(&self, name: Option<&str>, more: &[String]) -> Result<()> {
        self.ready()?;
        let folder = self.root.join("notebooks");
        let notebook =
            name.map_or_else(|| folder.clone(), |name| folder.join(format!("{name}.ipynb")));
        // JupyterLab hides pictures in outputs that it has not seen being made, unless the notebook is
        // trusted. These come with the course, and the reader is about to run the course's code anyway.
        let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let notebooks =
            files.filter(|file| file.extension().is_some_and(|extension| extension == "ipynb"));
        let mut trust = self.command();
        trust.args(["-c", TRUST]).args(notebooks);
        let (status, lines) = watch(&mut trust, |_| {})?;
        if !status.success() {
            bail!("the notebooks could not be marked as trusted: {}", cause(&lines));
        }
        let mut root = OsString::from("--ServerApp.root_dir=");
        root.push(&self.root);
        let mut lab = self.command();
        lab.args(["-m", "jupyterlab"]).arg(root).arg(notebook).args(more);
        become_program(&mut lab).context("can't start JupyterLab")
    }
}

/// Goes on as another program, so that Ctrl-C and its questions are that program's alone. Returns only
/// where a system has no such thing, once the program has ended, or if it can't be started.
#[cfg(unix)]
fn become_program(command: &mut Command) -> Result<()> {
    Err(std::os::unix::process::CommandExt::exec(command).into())
}

#[cfg(not(unix))]
fn become_program(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { bail!("it ended with an error, see above") }
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
    let Some(Kind::Code { runs, outputs: kept }) =
        notebook.cells.get_mut(index).map(|cell| &mut cell.kind)
    else {
        bail!("Jupyter ran a cell that the notebook does not have");
    };
    let found = failure(&outputs);
    *kept = tidied(outputs, root);
    match (found, *runs) {
        (Some(message), Runs::Along | Runs::Asked) => bail!("it failed:\n{message}"),
        (None, Runs::Fails) => bail!("it is marked as one that fails, but it did not"),
        _ => Ok(()),
    }
}

/// What went wrong in a cell: the compiler's message, or a panic's. The kernel reports a panic as text
/// on the error stream and calls the cell a success.
pub fn failure(outputs: &[Value]) -> Option<String> {
    let mut messages = Vec::new();
    for output in outputs {
        match output["output_type"].as_str() {
            Some("error") => {
                let lines: Vec<String> = output["traceback"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .map(plain)
                    .collect();
                let value = output["evalue"].as_str().unwrap_or("an error without a message");
                messages.push(if lines.is_empty() { plain(value) } else { lines.join("\n") });
            }
            Some("stream") if output["name"] == "stderr" => {
                messages.push(plain(&crate::notebook::joined(&output["text"])));
            }
            _ => {}
        }
    }
    let failed = outputs.iter().any(|output| output["output_type"] == "error")
        || messages
            .concat()
            .lines()
            .any(|line| line.starts_with("thread '") && line.contains(" panicked at "));
    failed.then(|| {
        // A line that is printed arrives as a message with its line break, an error's without.
        let lines: Vec<&str> =
            messages.iter().map(|message| message.trim_end_matches('\n')).collect();
        without_backtrace(&lines.join("\n")).trim().to_owned()
    })
}

/// Outputs as they are kept: neighbouring prints joined, no colours of a terminal, no numbers that count
/// executions, no paths of this machine, no backtrace.
pub fn tidied(outputs: Vec<Value>, root: &Path) -> Vec<Value> {
    const KINDS: [&str; 4] = ["image/svg+xml", "image/png", "text/html", "text/plain"];
    let root = root.to_string_lossy().into_owned();
    let home = env::home_dir().map(|home| home.to_string_lossy().into_owned());
    let text = |value: &Value| {
        let mut text = plain(&crate::notebook::joined(value));
        text = text.replace(&format!("{root}/"), "").replace(&root, ".");
        if let Some(home) = home.as_deref().filter(|home| home.len() > 1) {
            text = text.replace(home, "~");
        }
        text
    };
    let mut printed: Vec<Value> = Vec::new();
    for output in outputs {
        match output["output_type"].as_str() {
            Some("stream") => {
                let more = text(&output["text"]);
                match printed.last_mut() {
                    Some(last)
                        if last["output_type"] == "stream" && last["name"] == output["name"] =>
                    {
                        let joined = last["text"].as_str().unwrap_or_default().to_owned() + &more;
                        last["text"] = Value::String(joined);
                    }
                    _ => printed.push(
                        json!({"name": output["name"], "output_type": "stream", "text": more}),
                    ),
                }
            }
            // A result is kept as something shown: all that it has more is a count of executions.
            Some("execute_result" | "display_data") => {
                let mut data = serde_json::Map::new();
                for name in KINDS {
                    if !output["data"][name].is_null() {
                        data.insert(
                            name.to_owned(),
                            json!(crate::notebook::lines(&text(&output["data"][name]))),
                        );
                    }
                }
                // `()`, the value of a loop, says nothing.
                if data.get("text/plain") != Some(&json!(["()"])) || data.len() > 1 {
                    printed
                        .push(json!({"data": data, "metadata": {}, "output_type": "display_data"}));
                }
            }
            Some("error") => {
                let lines = output["traceback"].as_array().cloned().unwrap_or_default();
                let lines: Vec<String> = lines.iter().map(&text).collect();
                printed.push(json!({
                    "ename": text(&output["ename"]), "evalue": text(&output["evalue"]),
                    "output_type": "error", "traceback": lines,
                }));
            }
            _ => {}
        }
    }
    for output in &mut printed {
        if output["output_type"] == "stream" {
            let text = without_backtrace(output["text"].as_str().unwrap_or_default());
            output["text"] = json!(crate::notebook::lines(&text));
        }
    }
    printed.retain(|output| output["output_type"] != "stream" || output["text"] != json!([]));
    printed
}

/// A panic's message without the stack that led to it, the thread's number and empty lines around it.
fn without_backtrace(text: &str) -> String {
    if !text.contains(" panicked at ") {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut in_stack = false;
    for line in text.lines() {
        in_stack = (in_stack && line.starts_with(' ')) || line == "stack backtrace:";
        if in_stack || line.starts_with("note: ") || (line.is_empty() && out.is_empty()) {
            continue;
        }
        // `thread '<unnamed>' (19537) panicked at …`: the number is another one each time.
        let line = match (line.find("' ("), line.find(") panicked at ")) {
            (Some(from), Some(to)) if line.starts_with("thread '") && from < to => {
                format!("{}{}", &line[..=from], &line[to + 1..])
            }
            _ => line.to_owned(),
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Text without a terminal's colours (ECMA-48 control sequences).
pub(crate) fn plain(text: &str) -> String {
    let (mut out, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
        } else if chars.next() == Some('[') {
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
    }
    out
}

/// Cargo: the one that runs this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Whether a program starts and is content with these arguments.
fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A Python that is new enough, by name.
fn python() -> Option<&'static str> {
    let test = "import sys; sys.exit(sys.version_info < (3, 9))";
    ["python3", "python", "py"].into_iter().find(|python| works(python, &["-c", test]))
}

/// How many crates an interrupted build has behind it.
fn compiled(build: &Path) -> u64 {
    let entries = fs::read_dir(build.join("release/.fingerprint")).into_iter().flatten().flatten();
    let names: HashSet<String> = entries
        .filter_map(|entry| {
            // Cargo makes a folder for each crate at once, and notes there when it is compiled.
            let notes = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            let mut notes = notes.map(|note| note.file_name().to_string_lossy().into_owned());
            notes.any(|note| note.starts_with("dep-lib-")).then_some(())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            name.rsplit_once('-').map(|(name, _)| name.to_owned())
        })
        .collect();
    (names.len() as u64).min(KERNEL_CRATES)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    Stdout,
    Stderr,
}

/// Sends each line of a stream on.
pub(crate) fn read_lines(
    stream: Option<impl Read + Send + 'static>,
    source: Source,
    send: mpsc::Sender<(Source, String)>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let Some(stream) = stream else { return };
        let mut reader = BufReader::new(stream);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            bytes.clear();
            if send.send((source, line)).is_err() {
                return;
            }
        }
    })
}

/// Runs a program to its end and hands each line that it prints to `see`. Returns all lines.
pub(crate) fn watch(
    command: &mut Command,
    mut see: impl FnMut(&str),
) -> Result<(ExitStatus, Vec<String>)> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            anyhow!("the program `{program}` is not here; install it or put its folder on PATH")
        }
        _ => anyhow!(error).context(format!("can't start `{program}`")),
    })?;
    let (send, receive) = mpsc::channel();
    let readers = [
        read_lines(child.stdout.take(), Source::Stdout, send.clone()),
        read_lines(child.stderr.take(), Source::Stderr, send),
    ];
    let mut lines = Vec::new();
    for (_, line) in receive {
        see(&line);
        lines.push(line);
    }
    for reader in readers {
        let _ = reader.join();
    }
    let status = child.wait().with_context(|| format!("can't wait for `{program}`"))?;
    Ok((status, lines))
}

/// Why a program failed, in a sentence, from what it printed.
pub fn cause(lines: &[String]) -> String {
    const KNOWN: [(&[&str], &str); 5] = [
        (&["No space left on device", "os error 28"], "the disk is full; make room and try again"),
        (
            &["ensurepip is not", "No module named venv", "No module named ensurepip"],
            "Python's module `venv` is missing; install it (Debian and Ubuntu: `sudo apt install python3-venv`)",
        ),
        (
            &["linker `cc` not found", "failed to find tool \"cc\""],
            "there is no C compiler; install one (Debian and Ubuntu: `sudo apt install build-essential`)",
        ),
        (
            &["requires rustc", "is not supported by the following package"],
            "this Rust is too old; run `rustup update`",
        ),
        (
            &[
                "Could not resolve host",
                "Temporary failure in name resolution",
                "NewConnectionError",
                "Network is unreachable",
                "failed to download",
                "spurious network error",
                "Failed to connect",
                "Connection refused",
                "dns error",
                "failed to fetch",
                "No matching distribution found",
            ],
            "what it needs could not be downloaded; check the network and try again",
        ),
    ];
    let has = |mark: &str| lines.iter().any(|line| line.contains(mark));
    if let Some((_, sentence)) = KNOWN.iter().find(|(marks, _)| marks.iter().any(|mark| has(mark)))
    {
        return (*sentence).to_owned();
    }
    // The first error is the reason of those that follow; without one, the last line has to do.
    let lines =
        || lines.iter().map(|line| plain(line).trim().to_owned()).filter(|line| !line.is_empty());
    let marks = ["error", "denied"];
    lines()
        .find(|line| line.to_lowercase().starts_with("error"))
        .or_else(|| {
            lines().find(|line| marks.iter().any(|mark| line.to_lowercase().contains(mark)))
        })
        .or_else(|| lines().next_back())
        .unwrap_or_else(|| "it ended without a message".to_owned())
}
