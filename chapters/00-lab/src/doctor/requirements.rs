//! What the course asks of a machine, and how each system gets it: the table `requirements.json`, in the order of the rows.

use serde::{Deserialize, Serialize};
use std::{env, fs};

/// One requirement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The step that it belongs to, from a bare machine to a GPU that trains: `2. the driver`.
    pub step: String,
    /// What is looked for.
    pub name: String,
    /// Whether it is there.
    pub found: bool,
    /// Its version, or what else is to be said about what was found.
    pub version: Option<String>,
    /// What the course uses it for.
    pub what_for: String,
    /// How to get it on this system.
    pub how_to_get: String,
    /// Whether the course can't run without it.
    pub required: bool,
}

/// The systems whose packages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Debian,
    Fedora,
    OtherLinux,
    Mac,
    Windows,
}

impl System {
    pub fn detect() -> Self {
        match env::consts::OS {
            "macos" => Self::Mac,
            "windows" => Self::Windows,
            _ => Self::of_release(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        }
    }

    /// By the lines `ID=` and `ID_LIKE=` of `/etc/os-release`.
    pub fn of_release(text: &str) -> Self {
        let ids: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
            .flat_map(|ids| ids.trim_matches(['"', '\'']).split(' '))
            .collect();
        let is = |names: &[&str]| ids.iter().any(|id| names.contains(id));
        if is(&["debian", "ubuntu"]) {
            Self::Debian
        } else if is(&["fedora", "rhel", "centos"]) {
            Self::Fedora
        } else {
            Self::OtherLinux
        }
    }
}

/// A row of the table. `get` is the way on every system; of those with packages `apt` is also the others' way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    step: String,
    name: String,
    what_for: String,
    #[serde(default)]
    required: bool,
    /// Whether no Mac can have it.
    #[serde(default)]
    cuda: bool,
    get: Option<String>,
    apt: Option<String>,
    dnf: Option<String>,
    mac: Option<String>,
    windows: Option<String>,
}

impl Requirement {
    fn row(self, system: System) -> Row {
        let no_cuda = "Macs have no CUDA: rent a machine with an NVIDIA GPU for these parts";
        let way = match system {
            System::Mac if self.cuda => Some(no_cuda.to_owned()),
            System::Mac => self.mac,
            System::Windows => self.windows.or(self.apt),
            System::Fedora => self.dnf.or(self.apt),
            System::Debian => self.apt,
            System::OtherLinux => {
                self.apt.map(|apt| apt + " (on Debian; your system's names may differ)")
            }
        };
        Row {
            step: self.step,
            name: self.name,
            what_for: self.what_for,
            required: self.required,
            how_to_get: way.or(self.get).unwrap_or_default(),
            ..Row::default()
        }
    }
}

/// The rows of one system, with nothing found yet.
pub struct Requirements(pub Vec<Row>);

impl Requirements {
    pub fn of(system: System) -> Self {
        let table: Vec<Requirement> =
            serde_json::from_str(include_str!("requirements.json")).unwrap_or_default();
        Self(table.into_iter().map(|requirement| requirement.row(system)).collect())
    }

    /// The row of this name, with the version that was found, if one was.
    pub fn row(&self, name: &str, version: Option<String>) -> Row {
        let row = self.0.iter().find(|row| row.name == name).cloned().unwrap_or_default();
        Row { found: version.is_some(), version, ..row }
    }

    /// Where a row of this name stands.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|row| row.name == name)
    }
}
