//! Chapter 7: many devices. The same training, split over threads, processes and GPUs, and proved equal to one device.
//!
//! The modules in the order of the page:
//!
//! 1. [`rank`]: the numbers of devices; [`point_to_point`]: what one can do; [`communicator`]: what all do together, behind
//!    one trait ([`bytes`] travel as numbers); [`threads`] is its first engine, and [`cores`] gives each thread one.
//! 2. [`comm`]: collective operations from scratch, the engines MPI and NCCL, and what they cost.
//! 3. [`split`]: the batch, the layers and the products, split over devices.
//! 4. [`replicas`]: chapter 4's trainer on many devices; gradients on their way while others are computed; ranks that
//!    die, hang or differ.
//! 5. [`plan`]: predicted time on thousands of GPUs, and the best split for a model and a set of cards.
//!
//! [`measured`] has what the page measures and draws.

pub mod bytes;
pub mod comm;
pub mod communicator;
pub mod cores;
pub mod error;
pub mod measured;
pub mod plan;
pub mod point_to_point;
pub mod rank;
pub mod replicas;
pub mod split;
pub mod threads;

pub use communicator::Communicator;
pub use error::{Error, Result};
pub use measured::chapter;
pub use point_to_point::PointToPoint;
pub use rank::{Rank, part_of};
