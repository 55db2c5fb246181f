//! The chapter from outside, by part, and its figures from records.

mod compare {
    mod convolution;
}
// Chapter 4's, for tests alone.
#[path = "../../../04-training/tests/it/models/convolve.rs"]
mod convolve;
mod gpu {
    mod cost;
    mod run;
    mod timeline;
}
mod input {
    mod decode;
    mod gpu;
    mod pieces;
    mod prefetch;
    mod store;
    mod stream;
}
mod ladder;
mod learner;
mod measured {
    mod experiments {
        mod command;
        mod compare;
        mod engine;
        mod gpu;
        mod profile;
        mod pytorch;
        mod timeline;
    }
    mod figures {
        mod lanes;
    }
}
mod memory {
    mod limit;
}
mod memory_pictures;
mod profile {
    mod cost;
    mod report;
    mod trace;
}
