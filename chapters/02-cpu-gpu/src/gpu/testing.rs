//! A device for tests.

use super::{
    device::{About, Api, Gpu, Kind},
    find::{devices, open},
    nvrtc::Nvrtc,
};
use crate::Error;
use lab::testing::{Tool, need};
use std::{
    ops::Deref,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
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

/// The first OpenCL device, or `None` where there is none, or none that starts. `THROUGHPUT_TEST_DEVICE=cuda` has all tests of
/// portable kernels run on an NVIDIA GPU instead. A thread that holds one waits forever for a second.
///
/// # Panics
/// As [`need`]; or if the named device is missing.
pub fn opencl() -> Option<Turn> {
    let turn = turn();
    let devices = devices();
    let named = std::env::var("THROUGHPUT_TEST_DEVICE").ok();
    let found = devices.found.iter().find(|about| match &named {
        Some(id) => about.id == *id,
        None => about.api == Api::OpenCl,
    });
    let gpu = match found {
        Some(about) => open(&about.id),
        None => Err(Error::Message(
            devices.missing.iter().map(|missing| &*missing.why).next().unwrap_or("none").to_owned(),
        )),
    };
    let gpu = match named {
        Some(named) => gpu.unwrap_or_else(|why| panic!("a test needs {named}: {why}")),
        None => need(Tool::OpenCl, gpu)?,
    };
    Some(Turn { gpu, _turn: turn })
}

/// An NVIDIA GPU, or `None` where there is none.
///
/// # Panics
/// As [`need`].
pub fn cuda() -> Option<Turn> {
    let turn = turn();
    Some(Turn { gpu: need(Tool::Cuda, open("cuda"))?, _turn: turn })
}

/// NVRTC with its headers, new enough for all generations of GPUs that tests compile for, or `None` where there is none.
///
/// # Panics
/// As [`need`].
pub fn nvrtc() -> Option<Nvrtc> {
    static ENOUGH: OnceLock<Result<(), String>> = OnceLock::new();
    let enough = ENOUGH.get_or_init(|| {
        let nvrtc = Nvrtc::load().map_err(|why| why.to_string())?;
        let tried = nvrtc.compile(PROBE, &[], "probe", "sm_100");
        tried.map(drop).map_err(|why| why.to_string().lines().collect::<Vec<_>>().join(" "))
    });
    need(Tool::Nvrtc, enough.clone())?;
    Nvrtc::load().ok()
}

/// A kernel that a compiler which is too old, or has no headers, does not compile.
pub const PROBE: &str = "#include <mma.h>\nextern \"C\" __global__ void probe() {}\n";

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
