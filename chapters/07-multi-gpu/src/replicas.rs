//! Chapter 4's trainer on many devices, and ranks that die, hang or differ.
//!
//! The modules in the order of the page:
//!
//! 1. [`flat`]: all gradients in one row; [`link`]: the message of a step; [`step`]: a replica's step.
//! 2. [`run`]: one trainer for many devices; [`relay`]: its progress, told to another thread.
//! 3. [`tcp`]: ranks that are processes; [`launch`]: how ranks come to be.
//! 4. [`words`]: text between ranks; [`handshake`]: ranks that differ are refused.
//! 5. [`heartbeat`]: who is still there? [`watch`]: who is slow?
//! 6. [`show`]: replicas against one device; [`experiments`] and [`figures`]: what is measured, and pictures of it.

pub mod experiments;
pub mod figures;
pub mod flat;
pub mod handshake;
pub mod heartbeat;
pub mod launch;
pub mod link;
pub mod relay;
pub mod run;
pub mod show;
pub mod step;
pub mod tcp;
pub mod watch;
pub mod words;

use lab::Part;

pub use run::{train_rank, train_threads};

/// What this part measures and shows.
pub fn part() -> Part {
    Part {
        experiments: experiments::experiments(),
        figures: figures::figures(),
        tables: figures::tables(),
    }
}
