//! Each notebook's cells run to their end, one after the other, on a machine without a network.

use std::{env, error::Error, thread};

/// How a notebook ends.
type Ended = Result<(), Box<dyn Error>>;

include!(concat!(env!("OUT_DIR"), "/cells.rs"));

/// Runs cells in the folder of the notebooks, on a stack that a program could have. Those that open devices take turns: `PoCL`
/// 3.1 crashes now and then when several threads do.
fn run(cells: fn() -> Ended, opens_devices: bool) {
    let _turn = opens_devices.then(cpu_gpu::gpu::testing::turn);
    env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../notebooks")).unwrap();
    let run = move || cells().map_err(|error| error.to_string());
    let run = thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap();
    if let Err(error) = run.join().expect("no cell panics") {
        panic!("a cell failed: {error}");
    }
}
