//! The chapter's integration tests, one module each.

mod descent_playground;
mod faults;
mod page;
mod pages;
mod runs;
mod shapes;

/// Cargo runs the packages' tests in the order of their names, and this program last: it says what all of them skipped.
#[test]
fn what_was_skipped_is_told_at_the_end() {
    lab::testing::tell_at_end();
}
