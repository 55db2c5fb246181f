//! Joules that the machine has counted itself: a CPU's own counter on Linux, and an NVIDIA GPU's driver.

use crate::{Error, Result};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Where Linux shows the energy counters of Intel's and AMD's CPUs (RAPL, "running average power limit").
pub const POWERCAP: &str = "/sys/class/powercap";

/// The counter of one CPU package, in microjoules. It starts at zero again after `range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    path: PathBuf,
    range: u64,
}

impl Counter {
    fn new(folder: &Path) -> Result<Self> {
        let range = number(&folder.join("max_energy_range_uj"))?;
        let counter = Self { path: folder.join("energy_uj"), range };
        counter.read()?;
        Ok(counter)
    }

    fn read(&self) -> Result<u64> {
        number(&self.path)
    }
}

/// A whole number from a file of the kernel.
fn number(path: &Path) -> Result<u64> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|e| {
        Error::Power(if e.kind() == std::io::ErrorKind::PermissionDenied {
            format!("{shown} is for root alone; `sudo chmod a+r {shown}` until the next start makes it readable")
        } else {
            format!("{shown} can't be read ({e}); the kernel module intel_rapl_common provides it")
        })
    })?;
    text.trim()
        .parse()
        .map_err(|_| Error::Power(format!("{shown} contains no number: `{}`", text.trim())))
}

// ANCHOR: counted
/// Microjoules from one reading to the next, if the counter came to its end
/// at most once between them.
pub fn counted(before: u64, after: u64, range: u64) -> u64 {
    match after.checked_sub(before) {
        Some(counted) => counted,
        None => range.saturating_sub(before) + after,
    }
}
// ANCHOR_END: counted

/// The counters of all CPU packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rapl {
    counters: Vec<Counter>,
}

impl Rapl {
    /// The counters of this machine.
    ///
    /// # Errors
    /// [`Error::Power`], as [`Rapl::at`].
    pub fn find() -> Result<Self> {
        Self::at(Path::new(POWERCAP))
    }

    /// The counters in a folder such as [`POWERCAP`]: those of whole packages (`intel-rapl:0`), of which cores and
    /// graphics (`intel-rapl:0:0`) are parts.
    ///
    /// # Errors
    /// [`Error::Power`] with the way out, if there is no counter or it may not be read.
    pub fn at(root: &Path) -> Result<Self> {
        let none = || {
            Error::Power(format!(
                "the kernel shows no energy counter in {}; a virtual machine has none, another one may need the module intel_rapl_msr (sudo modprobe intel_rapl_msr)",
                root.display()
            ))
        };
        let package = |name: &str| {
            name.strip_prefix("intel-rapl:").is_some_and(|rest| rest.parse::<u32>().is_ok())
        };
        let entries = fs::read_dir(root).map_err(|_| none())?;
        let mut folders: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| package(&entry.file_name().to_string_lossy()))
            .map(|entry| entry.path())
            .collect();
        folders.sort();
        if folders.is_empty() {
            return Err(none());
        }
        let counters = folders.iter().map(|folder| Counter::new(folder)).collect::<Result<_>>()?;
        Ok(Self { counters })
    }

    /// Starts to count.
    ///
    /// # Errors
    /// [`Error::Power`] if a counter can't be read any more.
    pub fn start(&self) -> Result<Meter<'_>> {
        let last = self.counters.iter().map(Counter::read).collect::<Result<_>>()?;
        Ok(Meter { rapl: self, last, joules: 0.0 })
    }
}

/// Counts joules from its start on. Ask it at least once an hour: a counter that comes to its end twice between two
/// readings is not noticed (65,000 J, some minutes of a large server).
#[derive(Debug)]
pub struct Meter<'r> {
    rapl: &'r Rapl,
    last: Vec<u64>,
    joules: f64,
}

impl Meter<'_> {
    /// Joules since the start.
    ///
    /// # Errors
    /// [`Error::Power`] if a counter can't be read any more.
    pub fn joules(&mut self) -> Result<f64> {
        for (counter, last) in self.rapl.counters.iter().zip(&mut self.last) {
            let now = counter.read()?;
            self.joules += counted(*last, now, counter.range) as f64 / 1e6;
            *last = now;
        }
        Ok(self.joules)
    }
}

/// Watts that the first NVIDIA GPU draws now, by its driver's `nvidia-smi`.
///
/// # Errors
/// [`Error::Power`] where there is none, or it does not tell.
pub fn gpu_watts() -> Result<f64> {
    let options = ["--query-gpu=power.draw", "--format=csv,noheader,nounits", "--id=0"];
    let text = lab::probe::ask("nvidia-smi", &options);
    watts_in(text.as_deref().unwrap_or_default())
}

fn watts_in(text: &str) -> Result<f64> {
    let watts = text.trim().parse::<f64>().ok().filter(|watts| watts.is_finite() && *watts > 0.0);
    watts.ok_or_else(|| {
        Error::Power(
            "no NVIDIA GPU reports its power here; `nvidia-smi --query-gpu=power.draw --format=csv` shows what the driver knows"
                .to_owned(),
        )
    })
}

/// Joules of the first NVIDIA GPU while `work` runs, from its power every tenth of a second, and what `work` returns.
///
/// # Errors
/// [`Error::Power`] where there is no GPU that tells its power, before `work` starts.
pub fn gpu_joules<T>(work: impl FnOnce() -> T) -> Result<(f64, T)> {
    joules_of(gpu_watts, Duration::from_millis(100), work)
}

/// [`gpu_joules`] of any source of watts. A reading that fails is left out; its neighbours stand in for it.
fn joules_of<T>(
    watts: impl Fn() -> Result<f64> + Send + 'static,
    every: Duration,
    work: impl FnOnce() -> T,
) -> Result<(f64, T)> {
    let first = watts()?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let sampler = thread::spawn(move || {
        let (began, mut samples) = (Instant::now(), vec![(0.0, first)]);
        loop {
            let last = told.load(Ordering::Acquire);
            if let Ok(watts) = watts() {
                samples.push((began.elapsed().as_secs_f64(), watts));
            }
            if last {
                return trapezoids(&samples);
            }
            thread::sleep(every);
        }
    });
    let result = work();
    stop.store(true, Ordering::Release);
    let joules =
        sampler.join().map_err(|_| Error::Power("the power's reader has failed".to_owned()))?;
    Ok((joules, result))
}

/// Watts over seconds, added up with straight lines between the samples.
fn trapezoids(samples: &[(f64, f64)]) -> f64 {
    samples.windows(2).map(|p| 0.5 * (p[0].1 + p[1].1) * (p[1].0 - p[0].0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like the kernel's.
    fn fake(packages: &[(&str, u64, u64)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, energy, range) in packages {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("energy_uj"), format!("{energy}\n")).unwrap();
            fs::write(folder.join("max_energy_range_uj"), format!("{range}\n")).unwrap();
        }
        root
    }

    fn set(root: &tempfile::TempDir, name: &str, energy: u64) {
        fs::write(root.path().join(name).join("energy_uj"), format!("{energy}\n")).unwrap();
    }

    #[test]
    fn packages_are_added_up_over_the_end_of_a_counter() {
        let root = fake(&[
            ("intel-rapl:0", 9_000_000, 10_000_000),
            ("intel-rapl:1", 1_000_000, 10_000_000),
            ("intel-rapl:0:0", 5, 10_000_000), // a part of package 0
            ("dtpm", 5, 5),
        ]);
        let rapl = Rapl::at(root.path()).unwrap();
        assert_eq!(rapl.counters.len(), 2);
        let mut meter = rapl.start().unwrap();
        set(&root, "intel-rapl:0", 2_000_000); // 1 J to the end, 2 J after it
        set(&root, "intel-rapl:1", 1_500_000);
        assert!((meter.joules().unwrap() - 3.5).abs() < 1e-9);
        set(&root, "intel-rapl:0", 4_000_000);
        assert!((meter.joules().unwrap() - 5.5).abs() < 1e-9);
        assert!((meter.joules().unwrap() - 5.5).abs() < 1e-9);
    }

    #[test]
    fn a_counter_that_has_turned_over_counts_on() {
        assert_eq!(counted(5, 7, 100), 2);
        assert_eq!(counted(99, 3, 100), 4);
        assert_eq!(counted(7, 7, 100), 0);
        assert_eq!(counted(200, 3, 100), 3); // a range that lies
    }

    #[test]
    fn what_is_not_there_is_said_with_the_way_out() {
        let root = tempfile::tempdir().unwrap();
        for path in [root.path().to_owned(), root.path().join("none")] {
            let error = Rapl::at(&path).unwrap_err().to_string();
            assert!(error.contains("virtual machine") && error.contains("modprobe"), "{error}");
        }
        let root = fake(&[("intel-rapl:0", 1, 10)]);
        fs::write(root.path().join("intel-rapl:0/energy_uj"), "many").unwrap();
        assert!(Rapl::at(root.path()).unwrap_err().to_string().contains("no number: `many`"));
        fs::remove_file(root.path().join("intel-rapl:0/energy_uj")).unwrap();
        assert!(Rapl::at(root.path()).unwrap_err().to_string().contains("intel_rapl_common"));
    }

    #[test]
    fn watts_are_added_up_while_work_runs() {
        let (joules, result) = joules_of(
            || Ok(50.0),
            Duration::from_millis(5),
            || {
                let began = Instant::now();
                thread::sleep(Duration::from_millis(60));
                began.elapsed().as_secs_f64()
            },
        )
        .unwrap();
        // From just before the work to just after it.
        assert!(joules >= 50.0 * result * 0.9 && joules < 50.0 * (result + 1.0), "{joules}");
        assert!((trapezoids(&[(0.0, 10.0), (2.0, 20.0), (3.0, 0.0)]) - 40.0).abs() < 1e-12);
    }

    #[test]
    fn no_work_is_done_where_no_power_is_told() {
        let mut done = false;
        let none = || Err(Error::Power("none".to_owned()));
        assert!(joules_of(none, Duration::from_millis(1), || done = true).is_err());
        assert!(!done);
        for text in ["", "[N/A]", "0", "nan", "12 W"] {
            assert!(watts_in(text).unwrap_err().to_string().contains("nvidia-smi"), "{text}");
        }
        assert!((watts_in(" 71.25\n").unwrap() - 71.25).abs() < 1e-12);
    }
}
