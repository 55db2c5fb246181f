//! The batch, the layers and the products of a network, split over devices.
//!
//! The modules in the order of the page:
//!
//! 1. [`job`]: what is trained, and the one device that every split has to be equal to.
//! 2. [`data_parallel`]: the batch split over replicas; [`ranks`]: what the engine's programs ask of others.
//! 3. [`stage`]: the layers on different ranks.
//! 4. [`schedule`]: who computes what when, as data; [`pipeline`]: micro-batches through the ranks.
//! 5. [`tensor`]: products split by columns and rows.
//! 6. [`zero`]: replicas that do not keep everything everywhere.
//! 7. [`group`]: some ranks of others; [`grid`]: where each stands; [`hybrid`]: data × pipeline × tensor, a rank of any split.
//! 8. [`wire`]: a slow network; [`overlap`]: gradients on their way during the backward pass.
//! 9. [`dfdx`]: replicas of chapter 4's models.
//! 10. [`equality`]: every way against one device.
//! 11. [`claims`]: what people claim about it.

pub mod claims;
pub mod data_parallel;
pub mod dfdx;
pub mod equality;
pub mod grid;
pub mod group;
pub mod hybrid;
pub mod job;
pub mod overlap;
pub mod pipeline;
pub mod ranks;
pub mod schedule;
pub mod stage;
pub mod tensor;
pub mod wire;
pub mod zero;
