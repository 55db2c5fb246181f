//! What NVIDIA's own tools say of a machine.

use crate::{
    Unit,
    probe::{ask, ask_within},
    toolkit,
};
use std::{fs, time::Duration};

/// A GPU as `nvidia-smi` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NvidiaGpu {
    /// Its name: `NVIDIA H200`.
    pub name: String,
    /// The version of its driver: `580.65.06`.
    pub driver: String,
    /// Its memory in bytes, if it is told.
    pub memory: Option<u64>,
    /// Its compute capability, if it is told: `9.0`.
    pub capability: Option<String>,
}

impl NvidiaGpu {
    /// `NVIDIA H200 (141 GiB, compute capability 9.0)`.
    pub fn in_words(&self) -> String {
        let memory = self
            .memory
            .map_or("memory not told".to_owned(), |memory| Unit::Bytes.format(memory as f64));
        let capability = self.capability.as_deref().unwrap_or("not told");
        format!("{} ({memory}, compute capability {capability})", self.name)
    }
}

/// The NVIDIA GPUs that the driver shows; none where there is no driver.
pub(crate) fn nvidia_gpus() -> Vec<NvidiaGpu> {
    let query = "--query-gpu=name,driver_version,memory.total,compute_cap";
    nvidia_gpus_by("nvidia-smi", &[query, "--format=csv,noheader,nounits"])
}

/// How long the driver's tool may take: where no program keeps the driver loaded, it starts all GPUs first.
const DRIVER_STARTS: Duration = Duration::from_secs(10);

fn nvidia_gpus_by(program: &str, arguments: &[&str]) -> Vec<NvidiaGpu> {
    ask_within(DRIVER_STARTS, program, arguments)
        .map_or_else(Vec::new, |text| text.lines().filter_map(nvidia_gpu).collect())
}

fn nvidia_gpu(line: &str) -> Option<NvidiaGpu> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [name, driver, memory, capability] = fields[..] else {
        return None;
    };
    // The tool's complaints have commas, too. What it does not tell is `[N/A]`, or another reason in brackets.
    let version = |text: &str| text.split('.').all(|part| part.parse::<u32>().is_ok());
    let untold = |text: &str| text.starts_with('[') || text == "N/A";
    (version(driver) && (version(capability) || untold(capability))).then(|| NvidiaGpu {
        name: name.to_owned(),
        driver: driver.to_owned(),
        memory: memory.parse::<u64>().ok().map(|mebibytes| mebibytes << 20),
        capability: version(capability).then(|| capability.to_owned()),
    })
}

/// The version of the CUDA toolkit that builds here: that of `nvcc`, or of the first folder that has one.
pub(crate) fn cuda_toolkit() -> Option<String> {
    let nvcc = ask("nvcc", &["--version"]).and_then(|text| nvcc_version(&text));
    nvcc.or_else(|| {
        toolkit::roots().iter().find_map(|folder| {
            let text = fs::read_to_string(folder.join("version.json")).ok()?;
            let json: serde_json::Value = serde_json::from_str(&text).ok()?;
            Some(json["cuda"]["version"].as_str()?.to_owned())
        })
    })
}

/// `13.0` out of `Cuda compilation tools, release 13.0, V13.0.88`.
fn nvcc_version(text: &str) -> Option<String> {
    let version = text.split("release ").nth(1)?.split([',', ' ', '\n']).next()?;
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_print_is_understood() {
        let gpu = nvidia_gpu("NVIDIA H200, 580.65.06, 143771, 9.0").unwrap();
        assert_eq!(gpu.name, "NVIDIA H200");
        assert_eq!((gpu.driver.as_str(), gpu.capability.as_deref()), ("580.65.06", Some("9.0")));
        assert_eq!(gpu.memory, Some(143_771 << 20));
        assert_eq!(nvidia_gpu("No devices were found"), None);
        assert_eq!(nvidia_gpu("GPU is lost.  Reboot, the system, to recover, this GPU"), None);
        for (line, wanted) in [
            ("GB10, 580.95.05, [N/A], 12.1", "GB10 (memory not told, compute capability 12.1)"),
            ("B, 580.95.05, 1024, [N/A]", "B (1.00 GiB, compute capability not told)"),
        ] {
            assert_eq!(nvidia_gpu(line).unwrap().in_words(), wanted);
        }
        let nvcc =
            "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88";
        assert_eq!(nvcc_version(nvcc).as_deref(), Some("13.0"));
        assert_eq!(nvcc_version("something else"), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_driver_that_starts_slowly_is_waited_for() {
        let slow = "sleep 1.8; echo 'NVIDIA H200, 580.65.06, 143771, 9.0'";
        let gpus = nvidia_gpus_by("sh", &["-c", slow]);
        assert_eq!((gpus[0].name.as_str(), gpus[0].memory), ("NVIDIA H200", Some(143_771 << 20)));
        assert!(nvidia_gpus_by("no-such-program-as-this", &[]).is_empty());
    }
}
