//! The chapter's integration tests, one module each.

mod config;
mod descent_playground;
mod error;
mod faults;
mod learning {
    mod augment;
    mod engine;
    mod loss;
    mod memory;
    mod metrics;
    mod optimizer;
    mod schedule;
}
mod measured {
    #[cfg(unix)]
    mod command;
    mod experiments {
        mod job;
        mod studies;
    }
    mod figures;
}
mod models {
    mod conv;
    mod convolve;
    mod cpu;
    mod dense;
    mod gates;
    mod linear;
    mod mlp;
    mod model;
    mod norm;
    mod rnn;
    mod transformer;
}
mod page;
mod pages;
mod runner {
    mod chart;
    mod checkpoint;
    mod export;
    mod picture;
    mod serve;
}
mod runs;
mod shapes;

/// Cargo runs the packages' tests in the order of their names, and this program last: it says what all of them skipped.
#[test]
fn what_was_skipped_is_told_at_the_end() {
    lab::testing::tell_at_end();
}
