//! A device for tests.

use super::{
    device::{About, Api, Gpu, Kind},
    find::{devices, open},
};
use std::{
    ops::Deref,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// One test at a time: `PoCL` 3.1 crashes now and then when several threads start devices and compile.
static TURN: Mutex<()> = Mutex::new(());

/// A device, and the right to use it until this is dropped.
pub struct Turn {
    gpu: Box<dyn Gpu>, // dropped before the turn is given on
    _turn: MutexGuard<'static, ()>,
}

impl Deref for Turn {
    type Target = dyn Gpu;

    fn deref(&self) -> &Self::Target {
        &*self.gpu
    }
}

/// Waits until no other test uses a device.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first OpenCL device, or `None` and a note where there is none. With `THROUGHPUT_REQUIRE_OPENCL=1` that
/// is a failure, so that a test can't be left out where it must run. `THROUGHPUT_TEST_DEVICE=cuda` has all tests of
/// portable kernels run on an NVIDIA GPU instead. A thread that holds one waits forever for a second.
///
/// # Panics
/// If there is none and the variable asks for one, or if a device that was found does not start.
pub fn opencl() -> Option<Turn> {
    let turn = turn();
    let devices = devices();
    let named = std::env::var("THROUGHPUT_TEST_DEVICE").ok();
    let found = devices.found.iter().find(|about| match &named {
        Some(id) => about.id == *id,
        None => about.api == Api::OpenCl,
    });
    let required = named.is_some()
        || std::env::var("THROUGHPUT_REQUIRE_OPENCL").is_ok_and(|value| value == "1");
    match found {
        Some(about) => {
            let gpu = open(&about.id).unwrap_or_else(|error| panic!("{error}"));
            Some(Turn { gpu, _turn: turn })
        }
        None if required => {
            let wanted = named.as_deref().unwrap_or("OpenCL");
            panic!("a test needs {wanted}: {:?}", devices.missing)
        }
        None => {
            eprintln!("skipped: this machine has no OpenCL device");
            None
        }
    }
}

/// A device that is told of and not there.
pub fn about(api: Api, kind: Kind) -> About {
    About {
        id: "device".to_owned(),
        api,
        kind,
        name: "card".to_owned(),
        driver: String::new(),
        compute_units: 4,
        clock_hz: None,
        memory: 1 << 30,
        shared_memory: 49_152,
        max_block: 1024,
        compute_capability: None,
    }
}
