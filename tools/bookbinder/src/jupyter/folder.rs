//! The folder: what is where, and what Jupyter's programs need to know of it.

use anyhow::{Result, bail};
use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The version of the kernel that the notebooks are made with.
pub(super) const KERNEL: &str = "0.22.0";

/// The command that makes all this.
pub(super) const SET_UP: &str = "cargo run -- notebooks setup";

/// A folder with Jupyter in it, or where it will be.
#[derive(Clone, Debug)]
pub struct Jupyter {
    pub(super) root: PathBuf,
    pub(super) folder: PathBuf,
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
    pub(super) fn python(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" })
    }

    pub(super) fn kernels(&self) -> PathBuf {
        self.folder.join("share/jupyter")
    }

    /// How Jupyter starts the kernel.
    pub(super) fn spec(&self) -> PathBuf {
        self.kernels().join("kernels/rust/kernel.json")
    }

    /// That the kernel can work here: it can't in a folder with a space.
    pub(super) fn can_be_here(&self) -> Result<()> {
        if self.root.to_str().is_none_or(|root| root.contains(char::is_whitespace)) {
            bail!(
                "the Rust kernel can't load what it compiles from a path with a space or with bytes that are no text; \
                 move the course out of {} to a path without, or read its notebooks' cells in the book",
                self.root.display()
            );
        }
        Ok(())
    }

    /// Whether it is set up. The settings are written again where they are not this folder's or this program's: the course
    /// was moved, or is a newer one.
    ///
    /// # Errors
    /// If something is missing: a sentence that says what, with the command that makes it.
    pub fn ready(&self) -> Result<()> {
        self.can_be_here()?;
        if !self.python().is_file() || !self.folder.join("packages.txt").is_file() {
            bail!("Jupyter is not set up in {}; run `{SET_UP}`", self.folder.display());
        }
        let Some(kernel) = self.kernel().filter(|_| self.spec().is_file()) else {
            bail!("the Rust kernel is not set up in {}; run `{SET_UP}`", self.folder.display());
        };
        self.configure(&kernel)
    }

    /// The kernel: in the folder, or installed by cargo elsewhere on the path, in the right version.
    pub(super) fn kernel(&self) -> Option<PathBuf> {
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
    pub(super) fn command(&self) -> Command {
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
            "PIP_TARGET",
            "PIP_PREFIX",
            "PIP_ROOT",
        ] {
            command.env_remove(name);
        }
        // A file of the current folder is no module of Python's.
        command.env("PIP_USER", "0").env("PYTHONSAFEPATH", "1");
        command
    }
}
