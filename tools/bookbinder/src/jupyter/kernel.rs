//! The Rust kernel, and the settings by which Jupyter knows it.

use super::folder::{Jupyter, KERNEL, SET_UP};
use crate::{
    disk, manifest,
    process::{cargo, watch},
    text,
};
use anyhow::{Context, Result, anyhow, bail};
use lab::{out::warn, progress::Progress};
use serde_json::json;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

/// How many crates the kernel is made of, for the bar.
const KERNEL_CRATES: u64 = 273;

/// What runs a notebook, cell by cell.
const EXECUTE: &str = include_str!("execute.py");

/// What starts the kernel and stands between it and Jupyter.
const LAUNCH: &str = include_str!("launch.py");

/// What the kernel runs first.
const PRELUDE: &str = include_str!("prelude.rs");

/// `JupyterLab` does not contact other machines for news or updates.
const LAB_SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": {"checkForUpdates": false, "fetchNews": "false"}
}
"#;

impl Jupyter {
    /// Compiles the kernel, which takes minutes.
    pub(super) fn install_kernel(&self) -> Result<PathBuf> {
        let (build, began) = (self.folder.join("build"), Instant::now());
        let wait = Progress::new("Rust kernel", KERNEL_CRATES);
        let mut install = cargo();
        install
            .args(["install", "evcxr_jupyter", "--locked", "--version", KERNEL, "--root"])
            .arg(&self.folder)
            .arg("--target-dir")
            .arg(&build)
            .env_remove("RUSTFLAGS")
            // It hands cells to the compiler, and waits. At level 0 it is three times as slow.
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_LTO", "off");
        let mut done = 0;
        let failed = watch(&mut install, |line| {
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
        if let Some(why) = failed {
            bail!(
                "the Rust kernel could not be installed: {why}; what is compiled is kept, `{SET_UP}` goes on from there"
            );
        }
        wait.finish();
        let seconds = began.elapsed().as_secs();
        warn(format!("Rust kernel: evcxr_jupyter {KERNEL} installed in {seconds} s"));
        fs::remove_dir_all(&build).with_context(|| format!("can't remove {}", build.display()))?;
        self.kernel().ok_or_else(|| {
            anyhow!("cargo installed the Rust kernel, but it is not in {}", self.folder.display())
        })
    }

    /// Writes the settings that are not there as they should be: they contain absolute paths.
    pub(super) fn configure(&self, kernel: &Path) -> Result<()> {
        if !self.spec().with_file_name("version.txt").is_file() {
            // The kernel installs its icons and the note of its version; it reads where from `JUPYTER_PATH`.
            let mut install = Command::new(kernel);
            install.arg("--install").env("JUPYTER_PATH", self.kernels());
            if let Some(why) = watch(&mut install, |_| {})? {
                bail!("the Rust kernel does not start: {why}");
            }
        }
        let spec = json!({
            "argv": [
                self.python(),
                "-I",
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
        for (file, text) in [
            (self.folder.join("launch.py"), LAUNCH),
            (self.folder.join("execute.py"), EXECUTE),
            (self.folder.join("evcxr/prelude.rs"), PRELUDE),
            (self.spec(), &spec),
            (self.folder.join("venv/share/jupyter/lab/settings/overrides.json"), LAB_SETTINGS),
        ] {
            put(&file, text)?;
        }
        for below in ["config", "runtime"] {
            let folder = self.folder.join(below);
            fs::create_dir_all(&folder)
                .with_context(|| format!("can't make {}", folder.display()))?;
        }
        Ok(())
    }
}

/// Writes a file unless it has this text.
fn put(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    disk::write(file, text)
}

/// Cargo's settings for the cells, in the environment's folder.
const PROFILE: &str = ".cargo/config.toml";

impl Jupyter {
    /// Writes Cargo's settings for the cells.
    pub(super) fn set_profile(&self) -> Result<()> {
        let level = env::var("CARGO_PROFILE_RELEASE_OPT_LEVEL").ok();
        put(&self.folder.join(PROFILE), &self.profile(level.as_deref())?)
    }

    fn profile(&self, level: Option<&str>) -> Result<String> {
        let manifest = text::read(&self.root.join("Cargo.toml"))?;
        let chapters = manifest::chapter_crates(&self.root)?;
        manifest::notebook_profile(
            &manifest,
            level,
            chapters.iter().map(|chapter| chapter.name.as_str()),
        )
    }

    /// Whether cells are compiled as the course is, so that what they measure can be kept.
    ///
    /// # Errors
    /// If they are not: the kernel was set up to be ready soon.
    pub fn measures(&self) -> Result<()> {
        let set = fs::read_to_string(self.folder.join(PROFILE)).unwrap_or_default();
        if set != self.profile(None)? {
            bail!(
                "cells are compiled at another level than the course, and what they measure would be \
                 slower; run `cargo run -- notebooks setup` without CARGO_PROFILE_RELEASE_OPT_LEVEL, or leave \
                 out --in-place"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A course in which Jupyter is set up, as far as files tell.
    fn set_up(root: &Path) -> Jupyter {
        let jupyter = Jupyter::new(root);
        let cargo = format!("\"evcxr_jupyter {KERNEL} (registry)\" = []");
        for (file, text) in [
            (jupyter.python(), ""),
            (jupyter.folder.join("packages.txt"), "nbclient"),
            (jupyter.folder.join(".crates.toml"), cargo.as_str()),
            (jupyter.folder.join(format!("bin/evcxr_jupyter{}", env::consts::EXE_SUFFIX)), ""),
            (jupyter.spec().with_file_name("version.txt"), KERNEL),
            (jupyter.spec(), "{\"argv\": [\"/old/launch.py\"]}"),
        ] {
            put(&file, text).unwrap();
        }
        jupyter
    }

    #[test]
    fn a_course_that_was_moved_starts_its_own_kernel() {
        let root = tempfile::tempdir().unwrap();
        let jupyter = set_up(root.path());
        jupyter.ready().unwrap();
        let spec = fs::read_to_string(jupyter.spec()).unwrap();
        let launch = jupyter.folder.join("launch.py");
        assert!(!spec.contains("/old/") && spec.contains(launch.to_str().unwrap()), "{spec}");
        assert_eq!(fs::read_to_string(launch).unwrap(), LAUNCH, "and as this program has it");
    }

    #[test]
    fn a_path_with_a_space_is_refused_before_anything_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("my course");
        fs::create_dir(&root).unwrap();
        let told = Jupyter::new(&root).set_up(false).unwrap_err().to_string();
        assert!(told.contains("a space") && told.contains("my course"), "{told}");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
        assert!(set_up(&root).ready().unwrap_err().to_string().contains("a space"));
    }

    #[test]
    fn only_what_an_optimised_build_measures_is_kept() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("chapters")).unwrap();
        fs::write(root.path().join("Cargo.toml"), "[profile.dev]\nopt-level = 3\n").unwrap();
        let jupyter = Jupyter::new(root.path());
        let file = jupyter.folder.join(PROFILE);
        for (level, kept) in [(None, true), (Some("3"), true), (Some("1"), false)] {
            put(&file, &jupyter.profile(level).unwrap()).unwrap();
            assert_eq!(jupyter.measures().is_ok(), kept, "{level:?}");
        }
        fs::remove_file(&file).unwrap();
        let told = jupyter.measures().unwrap_err().to_string();
        assert!(told.contains("notebooks setup"), "{told}");
    }
}
