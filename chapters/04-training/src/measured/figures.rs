//! What of the chapter's figures and tables has a geometry or words of its own, of the main [`job`] and of the [`studies`]; the
//! pages declare the others.

pub mod job;
pub mod studies;

use lab::Table;

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    job::tables().into_iter().chain(studies::tables()).collect()
}
