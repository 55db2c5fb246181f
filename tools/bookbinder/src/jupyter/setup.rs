//! The way from nothing to notebooks that run.

use super::{
    folder::{Jupyter, KERNEL, SET_UP},
    run::Event,
};
use crate::notebook::{Kind, Notebook, of_the_pages};
use anyhow::{Context, Result, bail};
use lab::{out::warn, progress::Progress};
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
                warn(format!(
                    "Rust kernel: evcxr_jupyter {KERNEL} is there ({})",
                    kernel.display()
                ));
                kernel
            }
            None => self.install_kernel()?,
        };
        self.configure(&kernel)?;
        self.set_profile()?;
        self.warm_up()
    }

    /// Starts the kernel with what each notebook loads, so that a reader's first cell does not have to
    /// compile it. Each on its own: what a crate is compiled with depends on what else is loaded.
    fn warm_up(&self) -> Result<()> {
        let mut tests = Vec::new();
        for (_, file) in of_the_pages(&self.root) {
            let notebook = Notebook::read(&file)?;
            let code = notebook.code_cells().flat_map(|cell| cell.source.lines());
            tests
                .push(code.filter(|line| line.starts_with(":dep ")).collect::<Vec<_>>().join("\n"));
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
                    "the Rust kernel starts, but does not reply; delete {} and run `{SET_UP}` again",
                    self.folder.display()
                );
            }
        }
        warn(format!(
            "Rust kernel: it replies, and what the notebooks load is compiled ({} s)",
            began.elapsed().as_secs()
        ));
        Ok(())
    }
}
