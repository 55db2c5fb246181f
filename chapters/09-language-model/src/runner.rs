//! What surrounds the loop of a user's run: the text, how long it lasts, its folder, and what is told on the way.
//!
//! 1. [`size`]: the sizes by name, or the nearest to a number of parameters.
//! 2. [`text`]: the corpus as two streams of tokens.
//! 3. [`memory`]: whether there is enough of it.
//! 4. [`job`]: a run from the text to the files; it can be stopped, killed and gone on with.
//! 5. [`report`]: what a run writes down: lines, curves, samples; [`checkpoint`]: its whole state in one file.

pub mod checkpoint;
pub mod job;
pub mod memory;
pub mod report;
pub mod size;
pub mod text;

pub use checkpoint::Point;
pub use job::{Amount, Job, Outcome, train};
pub use size::Size;
pub use text::Text;
