//! The binder from outside: a whole book, the server, notebooks and exercises.

mod build;
mod exercises;
mod notebook;
mod serve;

use std::{env, fs, path::Path};

/// That something is what `tests/golden/made` has; `UPDATE_GOLDEN=1 cargo test -p bookbinder golden` writes that anew, for
/// you to read what has changed.
fn golden(name: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/made").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, made).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let differs = kept.lines().zip(made.lines()).find(|(old, new)| old != new);
    assert!(kept == made, "{} is otherwise: {differs:?}; see UPDATE_GOLDEN", file.display());
}
