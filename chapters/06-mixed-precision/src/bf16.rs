//! Training in bf16 on the CPU's matrix unit, from scratch: products of 16-bit numbers, sums and master weights of 32 bits.
//!
//! In the order of the page:
//!
//! - [`roofline`]: operations and bytes of each product of a step, before anything runs.
//! - [`error`](mod@error): how far a product of rounded numbers is off, predicted and measured.
//! - [`number`]: what a product reads, an f32 or a bf16.
//! - [`pass`]: the work between the products, each in one pass over memory.
//! - [`update`](mod@update): Adam on the master weights, and their copy in bf16, in the same pass.
//! - [`network`]: the network that trains with them.

pub mod error;
pub mod network;
pub mod number;
pub mod pass;
pub mod roofline;
pub mod update;
