//! The way from nothing to notebooks that run.

use super::{
    folder::{Jupyter, KERNEL, SET_UP},
    run::Event,
};
use crate::{
    manifest::chapter_crates,
    notebook::{Cell, Kind, Notebook, loads},
};
use anyhow::{Context, Result, bail};
use lab::{out::warn, progress::Progress};
use serde_json::json;
use std::{fs, time::Instant};

impl Jupyter {
    /// Makes what is missing. `lab` is whether to install `JupyterLab`, which shows notebooks in a
    /// browser.
    /// An interrupted run goes on where it stopped.
    ///
    /// # Errors
    /// Without Python 3, cargo, a network or room on the disk; each is one sentence with the way out.
    pub fn set_up(&self, lab: bool) -> Result<()> {
        self.can_be_here()?;
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("can't make the folder {}", self.folder.display()))?;
        self.make_python(lab)?;
        let kernel = match self.kernel() {
            Some(kernel) => {
                let place = kernel.display();
                warn(format!("Rust kernel: evcxr_jupyter {KERNEL} is there ({place})"));
                kernel
            }
            None => self.install_kernel()?,
        };
        self.configure(&kernel)?;
        self.set_profile()?;
        self.warm_up()
    }

    /// Starts the kernel with all that notebooks load, so that a reader's first cell does not have to compile it.
    fn warm_up(&self) -> Result<()> {
        let began = Instant::now();
        let mut test = Notebook::default();
        test.push_code(&loads(&chapter_crates(&self.root)?));
        test.push_code("println!(\"{}\", 6 * 7);");
        let wait = Progress::spinner("Rust kernel's first start");
        let run = self.run(&test, "the kernel's test", |event| {
            if let Event::Compiling(krate) = event {
                wait.note(&format!("compiling {krate}"));
            }
        })?;
        wait.finish();
        let printed = |cell: &Cell| matches!(&cell.kind, Kind::Code { outputs, .. } if json!(outputs).to_string().contains("42"));
        if !run.notebook.code_cells().any(printed) {
            bail!(
                "the Rust kernel starts, but does not reply; delete {} and run `{SET_UP}` again",
                self.folder.display()
            );
        }
        warn(format!(
            "Rust kernel: it replies, and what the notebooks load is compiled ({} s)",
            began.elapsed().as_secs()
        ));
        Ok(())
    }
}
