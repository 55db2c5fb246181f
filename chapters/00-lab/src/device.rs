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
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl FromStr for Device {
    type Err = crate::Error;

    fn from_str(text: &str) -> crate::Result<Self> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", index)) if let Ok(index) = index.parse() => Ok(Self::Cuda(index)),
            _ => Err(crate::Error::message(format!(
                "`{text}` is not a device; use auto, cpu or cuda:N"
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

    fn pick(choice: Option<&str>, environment: Option<&str>, gpus: usize) -> crate::Result<Self> {
        match choice.or(environment).unwrap_or("auto") {
            "auto" if gpus > 0 => Ok(Self::Cuda(0)),
            "auto" => Ok(Self::Cpu),
            name => match name.parse()? {
                Self::Cuda(index) if index >= gpus => Err(crate::Error::message(format!(
                    "there is no device cuda:{index} for this build ({gpus} found); use --device cpu, or see \
                     `cargo run -- doctor`"
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
        for device in [Device::Cpu, Device::Cuda(0), Device::Cuda(7)] {
            assert_eq!(device.to_string().parse::<Device>().unwrap(), device);
        }
        assert_eq!("cuda".parse::<Device>().unwrap(), Device::Cuda(0));
        for wrong in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "cpu:0", "auto"] {
            let error = wrong.parse::<Device>().unwrap_err().to_string();
            assert!(error.contains("use auto, cpu or cuda:N"), "{error}");
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
    fn a_gpu_that_is_not_there_is_refused() {
        let error = Device::choose(Some("cuda:2"), 2).unwrap_err().to_string();
        assert!(error.contains("no device cuda:2") && error.contains("(2 found)"), "{error}");
    }
}
