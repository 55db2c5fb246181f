//! Which devices this machine has, and how to start one.

use super::{
    cuda,
    device::{Api, Devices, Gpu, Kind, Missing},
    opencl,
};
use crate::{Error, Result};

/// Everything that this machine has to compute on. `THROUGHPUT_DEVICE=cpu` leaves GPUs out, `THROUGHPUT_OPENCL=off` what
/// OpenCL drives: where it drives the same GPU as CUDA, all would be measured twice.
pub fn devices() -> Devices {
    let set = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    let mut devices = Devices::default();
    if set("THROUGHPUT_OPENCL", "off") {
        devices.missing.push(without_opencl());
    } else {
        opencl::find(&mut devices);
    }
    cuda::find(&mut devices);
    if set("THROUGHPUT_DEVICE", "cpu") { devices.without_gpus() } else { devices }
}

/// Why there is no OpenCL where the reader wants none.
pub fn without_opencl() -> Missing {
    let why = "THROUGHPUT_OPENCL=off leaves OpenCL out; unset it to use that".to_owned();
    Missing { api: Api::OpenCl, why }
}

impl Devices {
    /// What is left where the reader wants no GPU used.
    #[must_use]
    pub fn without_gpus(mut self) -> Self {
        self.found.retain(|about| about.kind == Kind::Cpu);
        for api in [Api::OpenCl, Api::Cuda] {
            let left = self.found.iter().any(|about| about.api == api);
            if !left && !self.missing.iter().any(|missing| missing.api == api) {
                let why = "THROUGHPUT_DEVICE=cpu leaves GPUs out; unset it to use them".to_owned();
                self.missing.push(Missing { api, why });
            }
        }
        self
    }
}

/// The device with this short name.
///
/// # Errors
/// A message if there is none, or if it does not start.
pub fn open(id: &str) -> Result<Box<dyn Gpu>> {
    let devices = devices();
    let Some(about) = devices.found.into_iter().find(|about| about.id == id) else {
        let why: Vec<String> = devices.missing.into_iter().map(|missing| missing.why).collect();
        let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
        return Err(Error::message(format!("this machine has no device {id}{why}")));
    };
    match about.api {
        Api::OpenCl => Ok(Box::new(opencl::OpenCl::open(about)?)),
        Api::Cuda => Ok(Box::new(cuda::Cuda::open(about)?)),
    }
}

/// Every device that starts.
pub fn open_all() -> Vec<Box<dyn Gpu>> {
    devices().found.iter().filter_map(|about| open(&about.id).ok()).collect()
}
