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
//!   share/jupyter/kernels/rust/    how Jupyter starts it: by launch.py, which stands between the two
//!   slots/0, 1, …                  where a running kernel compiles; kept, so that crates compile once
//! ```
//!
//! `folder`: what is where. `python` and `kernel` put it there, `setup` in their order. `run` executes a
//! notebook, `outputs` tidies what it printed, `open` shows it in a browser.

mod folder;
mod kernel;
mod open;
mod outputs;
mod python;
mod run;
mod setup;

pub use folder::Jupyter;
pub use run::{Event, Run};
