//! Chapter 4: training with dfdx. Networks learn to classify handwritten digits, on a CPU or a GPU, and a run
//! that is stopped goes on as if nothing had happened.
//!
//! The parts in the order of the page, each of them a folder:
//!
//! 1. [`models`]: six models, and what each needs in addition to dfdx's operations.
//! 2. [`learning`]: loss, step, optimizer, and the loop around them.
//! 3. [`runner`]: a run and its checkpoint, those who watch it, and the trained model.
//! 4. [`measured`]: what this chapter measures, and what is drawn of it.
//!
//! [`config`] is what a run can be told, [`error`] what can go wrong.

pub mod config;
pub mod error;
pub mod learning;
pub mod measured;
pub mod models;
pub mod runner;

/// The library that trains, for those who use this crate's engines and tensors.
pub use dfdx;

pub use config::{EngineKind, Model, Precision, Settings};
pub use error::{Error, Result};
pub use learning::{
    any, augment, engine, engine::gpus, fit, loss, memory, optimizer, order, schedule, sets, step,
    team,
};
pub use measured::{chapter, experiments, experiments::studies};
pub use models::{
    cnn, conv, cpu, dense, layers, linear, mlp, model, norm, resnet, rnn, transformer,
};
pub use runner::{
    checkpoint, export,
    job::{Config, Start},
    outcome::Outcome,
    picture,
    serve::Classifier,
    terminal::Terminal,
    train::{train, train_on, train_stepper},
    watch,
    watch::{Silent, Watcher},
};
