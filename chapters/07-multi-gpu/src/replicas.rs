//! Chapter 4's trainer on many devices, and ranks that die, hang or differ.
//!
//! The modules in the order of the page:
//!
//! 1. [`link`]: the message of a step; [`step`]: a replica's step.
//! 2. [`run`]: one trainer for many devices.
//! 3. [`member`]: how ranks come to be; [`launch`]: starts a run of them; [`children`]: processes that it has started.
//! 4. [`tcp`]: ranks that are processes; [`frame`]: their messages; [`rendezvous`]: how they find each other.
//! 5. [`detector`]: who is still there? [`watch`]: who is slow? [`handshake`]: ranks that differ are refused.
//! 6. [`show`]: replicas against one device.

pub mod children;
pub mod detector;
pub mod frame;
pub mod handshake;
pub mod launch;
pub mod link;
pub mod member;
pub mod rendezvous;
pub mod run;
pub mod show;
pub mod step;
pub mod tcp;
pub mod watch;
