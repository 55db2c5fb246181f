//! The chapter from outside, by part; the page's scripts against the crate.

mod amp;
mod bf16 {
    mod engine;
    mod error;
    mod roofline;
}
mod bit_explorer;
mod formats {
    mod fast;
    mod format;
    mod round;
    mod sums;
}
mod measured {
    mod experiments {
        mod amp;
        mod bf16;
        mod formats;
    }
}
