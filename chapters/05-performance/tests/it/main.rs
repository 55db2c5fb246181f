//! The chapter from outside, by part; its kernels through NVIDIA's compilers, and its figures from records.

mod compare {
    mod convolution;
}
mod cuda_compile;
mod gpu {
    mod check;
    mod fused;
    mod graph;
    mod overlap;
    mod product;
    mod step;
    mod timeline;
    mod twin;
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

// Chapter 2's, for tests alone.
#[allow(dead_code, reason = "chapter 2 uses all of it")]
#[path = "../../../02-cpu-gpu/tests/compiled/code.rs"]
mod code;
