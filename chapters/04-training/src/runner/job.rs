//! A run as its caller describes it.

use crate::{config::Settings, learning::any::Makers};
use lab::Device;
use std::{path::PathBuf, time::Duration};

pub use lab::run::Start;

/// A run: what it computes, where, and what it leaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// What it computes.
    pub settings: Settings,
    /// Where.
    pub device: Device,
    /// The folder for what it leaves; without one it leaves nothing.
    pub run: Option<PathBuf>,
    /// What to do with that folder.
    pub start: Start,
    /// The reader's folder with the data set, if they named one.
    pub data: Option<PathBuf>,
    /// A checkpoint is written after every epoch, and after this long within one.
    pub checkpoint_every: Duration,
    /// Who makes what is trained.
    pub makers: Makers,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            device: Device::Cpu,
            run: None,
            start: Start::New,
            data: None,
            checkpoint_every: Duration::from_secs(20),
            makers: Makers::default(),
        }
    }
}
