//! `JupyterLab` in the browser.

use super::folder::Jupyter;
use crate::{disk, notebook::MINE, process::watch};
use anyhow::{Context, Result, bail};
use std::{ffi::OsString, process::Command};

/// `jupyter trust`, without looking for the program.
const TRUST: &str =
    "from nbformat.sign import TrustNotebookApp; TrustNotebookApp.launch_instance()";

impl Jupyter {
    /// Opens the reader's notebook of this name in `JupyterLab`, in the browser. Where the system allows, this program ends there and `JupyterLab`
    /// takes its place.
    ///
    /// # Errors
    /// If it is not set up, or `JupyterLab` fails.
    pub fn open(&self, name: &str, more: &[String]) -> Result<()> {
        self.ready()?;
        let folder = self.root.join(MINE);
        let notebook = folder.join(format!("{name}.ipynb"));
        // JupyterLab hides images in outputs that it has not seen being made, unless the notebook is
        // trusted. Those of the course are, and the reader is about to run the course's code anyway.
        let mut ours = disk::entries(&folder)?;
        ours.retain(|file| file.extension().is_some_and(|extension| extension == "ipynb"));
        if let Some(why) = watch(self.command().args(["-c", TRUST]).args(ours), |_| {})? {
            bail!("the notebooks could not be marked as trusted: {why}");
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
