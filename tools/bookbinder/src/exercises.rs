//! The exercises: what is solved, what comes next.
//!
//! `chapters/NN-name/exercises/NAME/` contains
//!
//! - `README.md`: see [`readme`];
//! - `solution.rs`: the one source. What it has between `// EXERCISE: begin` and `// EXERCISE: instead` is solved; behind it,
//!   up to `// EXERCISE: end`, stands as a comment what the reader begins with;
//! - `exercise.rs`: the reader's file, which compiles and fails its test. It is written out of the source where it is missing,
//!   by `check` and by whatever compiles it, never over what is there, and git does not see it;
//! - `test.rs`: the test, which takes one or the other as `mod exercise`.
//!
//! The exercises of a chapter are a package, `CRATE-exercises`, whose manifest `exercises/Cargo.toml` names each test:
//! `[[test]] name = "exercise-NAME"`, with `test = false`, since it fails until it is solved. The feature `solutions` makes
//! it take the solution. It is that package's feature, so that the chapter is compiled once for all of them.
//!
//! The order is that of the table of contents: an exercise comes where `{{#exercise CHAPTER/NAME}}` is. Nothing
//! is noted about a reader's progress: an exercise is solved if its test passes. So that this need not
//! be tried again each time, `target/exercises.json` remembers the outcome for files that have not changed.
//!
//! `exercise`: one of them; `find`: all of them; `build` compiles their tests, `outcome` reads what a test
//! reports, `memory` remembers it, and `checker` puts these together.

mod build;
mod checker;
mod exercise;
mod find;
mod memory;
mod outcome;
pub mod readme;
pub mod stub;

pub use checker::{Checker, Tried};
pub use exercise::Exercise;
pub(crate) use find::folders;
pub use find::{all, progress, select};
pub use outcome::Outcome;
