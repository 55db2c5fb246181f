//! The course's command.
fn main() {}
