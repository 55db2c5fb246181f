//! A trained model and its tokenizer, from a run's folder.

use crate::{Error, Model, Result, Tokenizer};
use lab::run::{Kind, MODEL, latest};
use std::path::{Path, PathBuf};

pub use lab::run::TOKENIZER;

/// The model of a run's folder, or of a file, with the tokenizer beside it.
///
/// # Errors
/// As [`Model::load`] and [`Tokenizer::load`]; [`lab::Error::Damaged`] if the two do not belong together.
pub fn load(run_or_file: &Path) -> Result<(Model, Tokenizer)> {
    let (file, beside) = files(run_or_file);
    let model = Model::load(&file)?;
    let tokenizer = Tokenizer::load(&beside)?;
    let (known, wanted) = (tokenizer.digest(), &model.tokenizer);
    let sizes = tokenizer.vocabulary() == model.config.vocabulary;
    if !sizes || (!wanted.is_empty() && known != *wanted) {
        let why = format!(
            "it is not the tokenizer that {} was trained with; put that one in its place, or train again",
            file.display()
        );
        return Err(Error::file(&beside, why));
    }
    Ok((model, tokenizer))
}

/// The latest run in `runs` with a language model, and what [`load`] makes of it.
pub fn latest_model(runs: &Path) -> Option<(PathBuf, (Model, Tokenizer))> {
    latest(runs, Some(Kind::Text), load)
}

/// The model's file and the tokenizer's.
fn files(run_or_file: &Path) -> (PathBuf, PathBuf) {
    if run_or_file.is_dir() {
        (run_or_file.join(MODEL), run_or_file.join(TOKENIZER))
    } else {
        (run_or_file.to_owned(), run_or_file.with_file_name(TOKENIZER))
    }
}
