//! The test of the exercise `copy-once`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Job, passes};
use lab::check::all;

/// The sizes are powers of two, so that ties are exact: a pass gains two seconds, and a link moves 4 B/s.
const JOB: Job = Job { cpu: 4.0, gpu: 1.0, to: 16.0, back: 8.0 };

#[test]
fn by_hand() {
    let free = Job { to: 0.0, back: 0.0, ..JOB };
    all([
        // After three passes both have taken as long, after four the GPU is ahead.
        ("the copies are paid once: six seconds of copies", passes(JOB, 1.0, 4.0), Some(4)),
        ("three seconds of copies", passes(JOB, 1.0, 8.0), Some(2)),
        ("seven seconds", passes(Job { back: 12.0, ..JOB }, 1.0, 4.0), Some(4)),
        ("without copies the first pass decides", passes(free, 1.0, 4.0), Some(1)),
        ("without copies the first pass decides: for the CPU", passes(free, 4.0, 4.0), None),
        ("a pass takes as long on both", passes(JOB, 3.0, 4.0), None),
        ("a launch can eat the gain", passes(JOB, 3.5, 4.0), None),
        ("a GPU that is slower", passes(Job { gpu: 5.0, ..JOB }, 0.0, 1e9), None),
    ]);
}

#[test]
fn it_is_the_first_such_number() {
    // A map of one step over 64 MiB: 50 GB/s on the CPU, 1,000 GB/s on the GPU, a link of 20 GB/s.
    let bytes = 67_108_864.0;
    let job = Job { cpu: 2.0 * bytes / 50e9, gpu: 2.0 * bytes / 1e12, to: bytes, back: bytes };
    let found = passes(job, 10e-6, 20e9).expect("the GPU gains in each pass");
    println!("ahead after {found} passes");
    let ahead = |passes: u64| {
        let passes = passes as f64;
        2.0 * bytes / 20e9 + passes * (10e-6 + job.gpu) < passes * job.cpu
    };
    assert!(ahead(found) && !ahead(found - 1), "{found}");
}
