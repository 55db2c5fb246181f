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
    /// The device that a person asked for: `choice` (`--device`), else `THROUGHPUT_DEVICE`, else `auto`, which
    /// takes the first GPU of `gpus` (how many this build can use) and the CPU where there is none.
    ///
    /// # Errors
    /// An unknown name, or a GPU that is not there.
    pub fn choose(choice: Option<&str>, gpus: usize) -> crate::Result<Self> {
        let from_environment = std::env::var("THROUGHPUT_DEVICE").ok();
        match choice.or(from_environment.as_deref()).unwrap_or("auto") {
            "auto" if gpus > 0 => Ok(Self::Cuda(0)),
            "auto" => Ok(Self::Cpu),
            name => match name.parse()? {
                Self::Cuda(index) if index >= gpus => Err(crate::Error::message(format!(
                    "there is no device cuda:{index} for this build ({gpus} found); use --device cpu, or see `throughput doctor`"
                ))),
                device => Ok(device),
            },
        }
    }
}
