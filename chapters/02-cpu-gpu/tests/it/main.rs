//! The chapter's tests, in one binary.

mod cuda_compile;
mod device;
mod devices;
#[cfg(target_os = "linux")]
mod fake_cuda;
mod gpu;
mod host_model;
mod in_rust;
mod ladder;
mod lu;
mod lu_device;
mod machine_code;
mod measured;
mod simt;
mod tensor_cores;
mod truck;
mod verify;
mod warp_viewer;
mod wrong;

// Chapters 5 and 7 also have it in their tests: it is for tests alone, so in no library.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "fake_cuda uses the most of it"))]
#[path = "../fake_cuda/stand_ins.rs"]
mod stand_ins;

// And so is this, for chapter 5.
#[path = "../compiled/code.rs"]
mod code;
