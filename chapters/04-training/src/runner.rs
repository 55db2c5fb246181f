//! What surrounds the loop: a run's folder, its watchers, and the trained model.
//!
//! 1. [`job`]: a run as its caller describes it; [`train`]: from the data set to the files.
//! 2. [`checkpoint`]: a run's whole state in one file of its folder, which is [`lab::run`]'s; [`curves`]: its figure;
//!    [`outcome`]: what it has reached.
//! 3. [`watch`]: who is told about the progress, and who may stop it; [`terminal`] with its [`chart`].
//! 4. [`serve`]: predictions from a stored model; [`export`]: a model for the page, as a script.
//! 5. [`picture`]: a reader's own digit, made into what the model learned from: [`grey`], [`page`] and [`form`].

pub mod chart;
pub mod checkpoint;
pub mod curves;
pub mod export;
pub mod form;
pub mod grey;
pub mod job;
pub mod outcome;
pub mod page;
pub mod picture;
pub mod serve;
pub mod terminal;
pub mod train;
pub mod watch;
