//! How a model is trained.
//!
//! 1. [`loss`]: softmax and cross-entropy, from scratch.
//! 2. [`step`]: forward, backward, update, of [`any`] of the six models.
//! 3. [`optimizer`]: five rules, from scratch and on dfdx's kernels, with a state that can be saved; the
//!    [`schedule`] of the learning rate.
//! 4. [`engine`]: the CPU or a GPU, and the data set that lives there; [`sets`]: the images of a run.
//! 5. [`order`]: the order of the images, a function of the seed and the epoch; [`augment`]: how they are changed.
//! 6. [`fit`]: the loop, and the test after each epoch, on a run in memory, the [`trainer`].
//!    A run may be one of several that train together: [`team`]. [`memory`]: whether there is room for a step.
//! 7. [`metrics`]: what is known of a step and of an epoch; [`snapshot`]: all that a run must know to go
//!    on.

pub mod any;
pub mod augment;
pub mod engine;
pub mod fit;
pub mod loss;
pub mod memory;
pub mod metrics;
pub mod optimizer;
pub mod order;
pub mod schedule;
pub mod sets;
pub mod snapshot;
pub mod step;
pub mod team;
pub mod trainer;
