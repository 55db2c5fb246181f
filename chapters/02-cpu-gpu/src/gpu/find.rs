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
fn without_opencl() -> Missing {
    let why = "THROUGHPUT_OPENCL=off leaves OpenCL out; unset it to use that".to_owned();
    Missing { api: Api::OpenCl, why }
}

impl Devices {
    /// What is left where the reader wants no GPU used.
    fn without_gpus(mut self) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::testing;

    #[test]
    fn without_gpus_the_cpu_is_left_and_the_variable_is_named() {
        let found =
            vec![testing::about(Api::OpenCl, Kind::Cpu), testing::about(Api::Cuda, Kind::Gpu)];
        let left = Devices { found, missing: Vec::new() }.without_gpus();
        assert_eq!(left.found, [testing::about(Api::OpenCl, Kind::Cpu)]);
        assert_eq!(left.missing.len(), 1);
        assert_eq!(left.missing[0].api, Api::Cuda);
        assert!(left.missing[0].why.contains("THROUGHPUT_DEVICE"));
        // A reason that is known already stays the only one.
        let known = Missing { api: Api::Cuda, why: "no driver".to_owned() };
        let left = Devices { found: Vec::new(), missing: vec![known.clone()] }.without_gpus();
        assert_eq!(left.missing.len(), 2);
        assert!(left.missing.contains(&known));
    }

    #[test]
    fn without_opencl_the_variable_is_named() {
        let Missing { api, why } = without_opencl();
        assert_eq!(api, Api::OpenCl);
        assert!(why.starts_with("THROUGHPUT_OPENCL=off leaves OpenCL out"), "{why}");
    }

    #[test]
    fn a_device_that_is_not_there_is_named_with_the_reasons() {
        let _turn = testing::turn();
        let Err(error) = open("opencl-gpu:99") else { panic!("there is one") };
        let error = error.to_string();
        assert!(error.contains("no device opencl-gpu:99"), "{error}");
        for missing in devices().missing {
            assert!(error.contains(&missing.why), "{error}");
        }
    }

    #[test]
    fn every_device_that_is_found_opens_under_its_name() {
        let _turn = testing::turn();
        let found = devices().found;
        let ids: Vec<&String> = found.iter().map(|about| &about.id).collect();
        let mut unique = ids.clone();
        unique.dedup();
        assert_eq!(ids, unique);
        for gpu in open_all() {
            assert!(found.contains(gpu.about()));
            assert!(gpu.about().compute_units > 0 && gpu.about().max_block > 0);
        }
    }
}
