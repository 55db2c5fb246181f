//! The course as a whole, as its readers have it: one program, so that it is linked once.

mod book;
mod check;
mod contribute;
mod forge;
mod gpt;
mod hostile;
mod readme;
mod stale;
#[cfg(unix)]
mod stops;
