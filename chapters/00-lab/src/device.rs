//! The CPU or a GPU, chosen when the program starts.

use std::{fmt, str::FromStr};

/// Where a program computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The machine's own processor.
    #[default]
    Cpu,
    /// The NVIDIA GPU with this number.
    Cuda(usize),
    /// The device with this number among the GPUs, or the CPUs, that OpenCL drives.
    OpenCl(Driven, usize),
}

/// What OpenCL drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driven {
    /// A GPU.
    Gpu,
    /// The machine's own processor, for trying a GPU's kernels.
    Cpu,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
            Self::OpenCl(of, index) => {
                f.write_str(if *of == Driven::Gpu { "opencl-gpu" } else { "opencl-cpu" })?;
                if *index > 0 { write!(f, ":{index}") } else { Ok(()) }
            }
        }
    }
}

impl FromStr for Device {
    type Err = crate::Error;

    fn from_str(text: &str) -> crate::Result<Self> {
        let (kind, index) = text.split_once(':').unwrap_or((text, "0"));
        match (kind, index.parse()) {
            ("cpu", _) if text == "cpu" => Ok(Self::Cpu),
            ("cuda", Ok(index)) => Ok(Self::Cuda(index)),
            ("opencl-gpu", Ok(index)) => Ok(Self::OpenCl(Driven::Gpu, index)),
            ("opencl-cpu", Ok(index)) => Ok(Self::OpenCl(Driven::Cpu, index)),
            _ => Err(crate::Error::message(format!(
                "`{text}` is not a device; use auto, cpu, cuda:N, opencl-gpu or opencl-cpu"
            ))),
        }
    }
}

impl Device {
    /// The device that the user asked for: `choice` (`--device`), else `THROUGHPUT_DEVICE`, else `auto`, which
    /// takes the first GPU of `gpus` (how many this build can use) and the CPU where there is none.
    ///
    /// # Errors
    /// An unknown name, or a GPU that is not there.
    pub fn choose(choice: Option<&str>, gpus: usize) -> crate::Result<Self> {
        let environment = crate::names::text_of("THROUGHPUT_DEVICE");
        Self::pick(choice, environment.as_deref(), gpus)
    }

    /// [`Device::choose`] among the devices with these names, chapter 2's: `auto` takes the first NVIDIA GPU, else the first GPU that
    /// OpenCL drives, and the CPU where there is none.
    ///
    /// # Errors
    /// An unknown name, or a device that is not there.
    pub fn among(choice: Option<&str>, names: &[&str]) -> crate::Result<Self> {
        let there = |device: &Self| names.contains(&&*device.id());
        match choice.filter(|name| !name.is_empty()).unwrap_or("auto") {
            "auto" => {
                let best = [Self::Cuda(0), Self::OpenCl(Driven::Gpu, 0)];
                Ok(best.into_iter().find(there).unwrap_or_default())
            }
            name => {
                let device = name.parse()?;
                if device == Self::Cpu || there(&device) {
                    return Ok(device);
                }
                let all: Vec<&str> = ["auto", "cpu"].iter().chain(names).copied().collect();
                Err(crate::Error::message(format!(
                    "this machine has no device {device}; use one of {} with --device, or see `cargo run -- doctor`",
                    all.join(", ")
                )))
            }
        }
    }

    /// Chapter 2's name for it.
    pub fn id(&self) -> String {
        if *self == Self::Cuda(0) { "cuda".to_owned() } else { self.to_string() }
    }

    fn pick(choice: Option<&str>, environment: Option<&str>, gpus: usize) -> crate::Result<Self> {
        match choice.or(environment).unwrap_or("auto") {
            "auto" if gpus > 0 => Ok(Self::Cuda(0)),
            "auto" => Ok(Self::Cpu),
            name => match name.parse()? {
                Self::Cuda(index) if index >= gpus => Err(crate::Error::message(format!(
                    "there is no device cuda:{index} for this build ({gpus} found); use --device cpu, or see \
                     `cargo run -- doctor`"
                ))),
                device @ Self::OpenCl(..) => Err(crate::Error::message(format!(
                    "{device} is for chapter 5's engine and for language models; use --device cpu or cuda:N here"
                ))),
                device => Ok(device),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_read_as_it_is_written() {
        let driven =
            [Driven::Gpu, Driven::Cpu].map(|of| [Device::OpenCl(of, 0), Device::OpenCl(of, 2)]);
        for device in
            [Device::Cpu, Device::Cuda(0), Device::Cuda(7)].into_iter().chain(driven.concat())
        {
            assert_eq!(device.to_string().parse::<Device>().unwrap(), device);
        }
        assert_eq!("cuda".parse::<Device>().unwrap(), Device::Cuda(0));
        for wrong in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "cpu:0", "auto"] {
            let error = wrong.parse::<Device>().unwrap_err().to_string();
            assert!(error.contains("use auto, cpu, cuda:N"), "{error}");
        }
    }

    #[test]
    fn the_choice_comes_before_the_environment_and_that_before_auto() {
        let pick = |choice, environment, gpus| Device::pick(choice, environment, gpus).unwrap();
        assert_eq!(pick(None, None, 0), Device::Cpu);
        assert_eq!(pick(None, None, 2), Device::Cuda(0));
        assert_eq!(pick(None, Some("cuda:1"), 2), Device::Cuda(1));
        assert_eq!(pick(Some("cpu"), Some("cuda:1"), 2), Device::Cpu);
        assert_eq!(pick(Some("auto"), Some("cpu"), 2), Device::Cuda(0));
        assert_eq!(Device::choose(Some("cpu"), 0).unwrap(), Device::Cpu);
    }

    #[test]
    fn auto_takes_a_gpu_and_no_cpu_in_its_coat() {
        let among = |choice, names: &[&str]| Device::among(choice, names).map(|d| d.to_string());
        assert_eq!(among(None, &["opencl-cpu"]).unwrap(), "cpu");
        assert_eq!(among(Some("auto"), &["opencl-cpu", "opencl-gpu"]).unwrap(), "opencl-gpu");
        assert_eq!(among(None, &["opencl-gpu", "cuda", "cuda:1"]).unwrap(), "cuda:0");
        assert_eq!(among(Some("cuda:0"), &["cuda"]).unwrap(), "cuda:0");
        assert_eq!(among(Some("opencl-cpu"), &["opencl-cpu"]).unwrap(), "opencl-cpu");
        let error = among(Some("cuda:1"), &["cuda"]).unwrap_err().to_string();
        assert!(error.contains("one of auto, cpu, cuda with"), "{error}");
    }

    #[test]
    fn a_gpu_that_is_not_there_is_refused() {
        let error = Device::choose(Some("cuda:2"), 2).unwrap_err().to_string();
        assert!(error.contains("no device cuda:2") && error.contains("(2 found)"), "{error}");
    }
}
