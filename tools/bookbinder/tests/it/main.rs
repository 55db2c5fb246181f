//! The binder from outside: a whole book, the server, notebooks and exercises.

mod build;
mod exercises;
mod notebook;
mod serve;

use std::path::Path;

/// That something is what `tests/golden/made` has; `UPDATE=1 cargo test -p bookbinder golden` writes that anew, for you to read
/// what has changed.
fn golden(name: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/made").join(name);
    lab::testing::is_as_made(&file, made);
}
