//! The Python environment and its packages.

use super::folder::{Jupyter, SET_UP};
use crate::{disk, process::watch};
use anyhow::{Result, anyhow, bail};
use lab::{out::warn, probe::ask_within, progress::Progress};
use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

/// What runs notebooks.
const RUNNER: &[&str] = &["nbclient>=0.10.2,<0.12"];

/// What shows them in a browser.
const LAB: &[&str] = &["jupyterlab>=4.2,<5"];

/// How long Python may take to print its version.
const ANSWER: Duration = Duration::from_mins(1);

impl Jupyter {
    /// The Python environment and its packages.
    pub(super) fn make_python(&self, lab: bool) -> Result<()> {
        let mut packages: Vec<&str> = RUNNER.to_vec();
        let noted = self.folder.join("packages.txt");
        let old = fs::read_to_string(&noted).unwrap_or_default();
        if lab || LAB.iter().all(|package| old.contains(package)) {
            packages.extend(LAB);
        }
        let list = packages.join("\n") + "\n";
        let modules =
            if packages.len() > RUNNER.len() { "nbclient, jupyterlab" } else { "nbclient" };
        if old == list && self.imports(modules) {
            warn("Python packages: there");
            return Ok(());
        }
        if !self.imports("sys") {
            self.make_environment()?;
        }
        let began = Instant::now();
        let wait = Progress::spinner("Python packages");
        let mut install = self.command();
        install.args(["-m", "pip", "install", "--progress-bar=off", "--disable-pip-version-check"]);
        let mut count = 0;
        let failed = watch(install.args(&packages), |line| {
            if let Some(package) = line.trim().strip_prefix("Collecting ") {
                count += 1;
                wait.note(&format!("{count}: {package}"));
            } else if line.starts_with("Installing") {
                wait.note("installing");
            }
        })?;
        if let Some(why) = failed {
            bail!("the Python packages could not be installed: {why}");
        }
        if !self.imports(modules) {
            bail!(
                "the Python packages were installed, but not where {} finds them; see `pip config list` for a setting such \
                 as `target`, `prefix` or `user`",
                self.python().display()
            );
        }
        wait.finish();
        disk::write(&noted, list)?;
        warn(format!("Python packages: installed in {} s", began.elapsed().as_secs()));
        Ok(())
    }

    /// Whether Python itself finds these modules: a note of what was installed may be older than Python or the packages.
    fn imports(&self, modules: &str) -> bool {
        let import = format!("import {modules}");
        matches!(watch(self.command().args(["-I", "-c", &import]), |_| {}), Ok(None))
    }

    /// An empty environment.
    fn make_environment(&self) -> Result<()> {
        let venv = self.folder.join("venv");
        let python = python().ok_or_else(|| {
            anyhow!(
                "there is no Python 3.9 or newer here, which Jupyter needs; install it (Debian and Ubuntu: \
                 `sudo apt install python3 python3-venv`, macOS: `brew install python`) and run `{SET_UP}` again"
            )
        })?;
        let mut make = Command::new(python);
        make.args(["-m", "venv", "--clear"])
            .arg(&venv)
            .env_remove("PYTHONHOME")
            .env_remove("PYTHONPATH");
        if let Some(why) = watch(&mut make, |_| {})? {
            // A half-made environment would be taken for a whole one.
            let _ = fs::remove_dir_all(&venv);
            bail!("Python could not make an environment: {why}");
        }
        self.made_by(python)
    }

    /// That the environment is there, whatever the output of the program that made it.
    fn made_by(&self, program: &str) -> Result<()> {
        if self.python().is_file() {
            return Ok(());
        }
        bail!(
            "`{program}` reports that it made a Python environment in {}, but there is none; see which program `{program}` is",
            self.folder.display()
        )
    }
}

/// A Python that is new enough, by name. A program of that name that hangs or prints something else does not count.
fn python() -> Option<&'static str> {
    let test = "import sys; print('Python', sys.version); sys.exit(sys.version_info < (3, 9))";
    let answers = |python: &&str| {
        ask_within(ANSWER, python, &["-c", test]).is_some_and(|said| said.starts_with("Python 3"))
    };
    ["python3", "python", "py"].into_iter().find(answers)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_that_is_not_there_is_a_sentence() {
        let root = tempfile::tempdir().unwrap();
        let error = Jupyter::new(root.path()).made_by("python3").unwrap_err().to_string();
        assert!(error.contains("`python3` reports") && error.contains(".jupyter"), "{error}");
    }
}
