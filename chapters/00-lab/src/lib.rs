//! Chapter 0: the lab. Everything that the other chapters measure, they measure with this crate.
//!
//! The modules in the order of the page:
//!
//! 1. [`doctor`]: what this machine has, what is missing, how to get it; [`toolkit`]: where CUDA may lie.
//! 2. [`device`]: the CPU or a GPU, chosen when the program starts.
//! 3. [`data`]: MNIST, found, downloaded or drawn.
//! 4. [`measure`]: warm-up, samples, median and spread; [`race`]: contenders that take turns; [`random`]: numbers to
//!    measure with; [`heap`]: what fresh memory costs; [`vectors`]: loops in the vectors of this CPU.
//! 5. [`units`] and [`machine`]: what a number means and where it comes from.
//! 6. [`record`]: what a run leaves behind, as JSON; [`contribution`]: all of it as one file that a reader can send in.
//! 7. [`mod@chapter`]: experiments, figures and tables, and the [`chapter::Recorder`] that runs them; [`key`]: what they
//!    record and look up, declared once.
//! 8. [`fooling`]: six ways to measure wrongly; [`peak`]: the limits of this machine, which every rate is
//!    held against.
//! 9. [`plot`]: numbers as figures; [`drawing`] and [`table`]: records as figures and tables, as data; [`mod@fence`]:
//!    the same as a page declares it; [`show`] puts
//!    them in a notebook.
//! 10. [`progress`]: what a terminal shows during the work; [`out`]: what a command says. [`files`]: those that a
//!     person names; [`limits`]: what the system may refuse; [`serve`]: the server of the book and of chapter 9's model;
//!     [`run`]: the folder of a training, of digits or of text.
//!
//! What this chapter itself measures is in [`measured`]: the model for the others.

pub mod chapter;
pub mod check;
pub mod contribution;
pub mod data;
pub mod device;
pub mod doctor;
pub mod drawing;
pub mod error;
pub mod fence;
pub mod files;
pub mod fooling;
pub mod git;
pub mod heap;
pub mod key;
pub mod limits;
pub mod machine;
pub mod measure;
pub mod measured;
pub mod names;
pub mod out;
pub mod peak;
pub mod plot;
pub mod probe;
pub mod progress;
pub mod race;
pub mod random;
pub mod record;
pub mod run;
pub mod serve;
pub mod show;
pub mod table;
#[doc(hidden)]
pub mod testing;
pub mod toolkit;
pub mod units;
pub mod vectors;

pub use chapter::{Budget, Chapter, Drawing, Experiment, Figure, Part, Recorder, Table, TableData};
pub use device::Device;
pub use error::{Error, Result};
pub use key::Key;
pub use measure::{Plan, Samples};
pub use measured::chapter;
pub use race::Race;
pub use record::Records;
pub use units::Unit;
