//! The binder from outside: a whole book, the server, notebooks and exercises.

mod build;
mod exercises;
mod notebook;
mod serve;
