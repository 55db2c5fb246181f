//! Predicted time on thousands of GPUs, and the best split for a model and a set of cards.
//!
//! In the order of the page: a [`network`] of islands; a data parallel step, event by event ([`simulate`]), checked
//! against steps of threads ([`predicted`]) and of [`published`] clusters, and [`why`] some models gain nothing; a
//! [`model`] as a list of blocks and the [`cards`] it may run on; what one [`split`] takes, and the [`search`] for the
//! best, in words by [`report`](mod@report).

pub mod cards;
pub mod model;
pub mod network;
pub mod predicted;
pub mod published;
pub mod report;
pub mod search;
pub mod simulate;
pub mod split;
pub mod why;
