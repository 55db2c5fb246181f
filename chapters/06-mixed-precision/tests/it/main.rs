//! The chapter from outside, by part; the page's scripts against the crate.

mod amp;
mod bf16 {
    mod error;
    mod network;
    mod number;
    mod pass;
    mod roofline;
    mod update;
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
    mod figures {
        mod formats;
    }
}
