//! Training in bf16 on the CPU: what a step needs and how far its products are off, before it runs. The step itself is chapter
//! 5's engine, whose products read bf16 and add in f32.
//!
//! In the order of the page:
//!
//! - [`error`](mod@error): how far a product of rounded numbers is off, predicted and measured.
//! - [`roofline`]: operations and bytes of each product of a step.

pub mod error;
pub mod roofline;
