//! Chapter 4: training with dfdx. Networks learn to read handwritten digits, on a CPU or a GPU, and a run
//! that is stopped goes on as if nothing had happened.
//!
//! The modules in the order of the page:
//!
//! 1. [`model`]: what all models share; [`linear`], [`mlp`] (the article's Keras example on dfdx), [`cnn`]
//!    with its [`conv`]olutions and the CPU's own [`windows`], [`resnet`] with its batch [`norm`]alisation, [`rnn`]
//!    and [`transformer`] with [`fused`] operations on rows.
//! 2. [`loss`]: softmax and cross-entropy, from scratch.
//! 3. [`optimizer`]: five rules, from scratch and on dfdx's kernels, with a state that can be saved; the
//!    [`schedule`] of the learning rate.
//! 4. [`engine`]: the CPU or a GPU, and the data set that lives there.
//! 5. [`order`]: the order of the pictures, a function of the seed and the epoch; [`augment`]: how they are changed.
//! 6. [`config`]: what a person can choose.
//! 7. [`fit`]: the loop: forward, backward, update, evaluate.
//!    A run may be one of several that learn together: [`team`].
//!    [`memory`]: whether there is room for a step.
//! 8. [`checkpoint`]: a run's whole state in one file that is never half written.
//! 9. [`run`]: what a run leaves in its folder.
//! 10. [`watch`]: who is told about the progress, and who may stop it.
//! 11. [`events`]: the curves as TensorBoard reads them; [`chart`]: as a terminal shows them.
//! 12. [`serve`]: predictions from a stored model; [`picture`]: a reader's own digit, made into MNIST's form;
//!     [`export`]: a model for the page, as a script.
//! 13. [`experiments`] and [`studies`]: what this chapter measures; [`figures`] and [`pictures`] of it.

pub mod augment;
pub mod chart;
pub mod checkpoint;
pub mod cnn;
pub mod config;
pub mod conv;
pub mod engine;
pub mod error;
pub mod events;
pub mod experiments;
pub mod export;
pub mod figures;
pub(crate) mod files;
pub mod fit;
pub mod fused;
pub mod linear;
pub mod loss;
pub mod memory;
pub mod mlp;
pub mod model;
pub mod norm;
pub mod optimizer;
pub mod order;
pub mod picture;
pub mod pictures;
pub mod resnet;
pub mod rnn;
pub mod run;
pub mod schedule;
pub mod serve;
pub mod studies;
pub mod team;
pub mod transformer;
pub mod watch;
pub mod windows;

pub use config::{Config, Model, Precision, Settings, Start};
pub use engine::gpus;
pub use error::{Error, Result};
pub use events::Board;
pub use fit::{Outcome, train, train_on};
pub use serve::Classifier;
pub use watch::{Silent, Terminal, Watcher};

/// This chapter, for the course's command and its book.
pub fn chapter() -> lab::Chapter {
    experiments::chapter()
}
