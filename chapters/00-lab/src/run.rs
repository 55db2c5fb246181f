//! What a training leaves in its folder, of digits or of text, and how it goes on from it:
//!
//! | file | what |
//! | --- | --- |
//! | `.lock` | nothing; it is locked while a training is at work in the folder |
//! | `checkpoint` | the whole state, see [`checkpoint`] |
//! | `metrics.jsonl` | a line about the run and its parts, then a line for each epoch, or each point |
//! | `curves.svg` | the same as a figure, see [`curves`] |
//! | `model.safetensors` | the weights |
//! | `tokenizer.json` | of a language model: what makes its tokens |
//! | `events.out.tfevents.…` | the curves for TensorBoard, see [`events`] |
//!
//! The checkpoint is the run; the other files follow from it. They are written after it, and once more when the run is gone
//! on with, so that it does not matter between which of them the program ended. [`folder`] is one training's at a time, [`kept`]
//! is what keeps it up with a run, and [`journal`] what a run knows about itself. [`files`] writes them, on the [`disk`].

pub mod checkpoint;
pub mod curves;
pub mod disk;
pub mod events;
pub mod files;
pub mod folder;
pub mod journal;
pub mod kept;

pub use checkpoint::{Kind, whole};
pub use files::{CHECKPOINT, CURVES, METRICS, MODEL, TOKENIZER, write_whole};
pub use folder::{Folder, Start, latest};
pub use journal::{Event, Identity, Journal, Part};
pub use kept::Kept;
