//! Joules that the machine has counted itself: a CPU's own counter on Linux, and an NVIDIA GPU's driver.

use crate::{Error, Result};
use lab::files::inside;
use std::{
    env, fs,
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

/// Energy can't be read on this machine.
pub fn untold(why: impl Into<String>) -> Error {
    Error::Skipped { what: "energy".to_owned(), why: why.into() }
}

/// A whole number from a file of the kernel.
fn number(path: &Path) -> Result<u64> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|e| {
        untold(if e.kind() == std::io::ErrorKind::PermissionDenied {
            format!("{shown} is for root alone; `sudo chmod a+r {shown}` until the next start makes it readable")
        } else {
            format!("{shown} can't be read ({e}); the kernel module intel_rapl_common provides it")
        })
    })?;
    text.trim()
        .parse()
        .map_err(|_| untold(format!("{shown} contains no number: `{}`", text.trim())))
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
    /// One for each package.
    pub counters: Vec<Counter>,
}

impl Rapl {
    /// The counters of this machine.
    ///
    /// # Errors
    /// [`Error::Skipped`], as [`Rapl::at`].
    pub fn find() -> Result<Self> {
        Self::at(Path::new(POWERCAP))
    }

    /// The counters in a folder such as [`POWERCAP`]: those of whole packages (`intel-rapl:0`, by its file `name`
    /// `package-0`). Cores and graphics (`intel-rapl:0:0`) are parts of one, and a laptop's `psys` has all of them in it.
    ///
    /// # Errors
    /// [`Error::Skipped`] with the way out, if there is no counter or it may not be read.
    pub fn at(root: &Path) -> Result<Self> {
        let none = || {
            untold(format!(
                "the kernel shows no energy counter in {}; a virtual machine has none, another one may need the module intel_rapl_msr (sudo modprobe intel_rapl_msr)",
                root.display()
            ))
        };
        let package = |folder: &PathBuf| {
            let of = folder.file_name()?.to_str()?.strip_prefix("intel-rapl:")?;
            let name = fs::read_to_string(folder.join("name")).ok()?;
            Some(of.parse::<u32>().is_ok() && name.starts_with("package"))
        };
        let mut folders = inside(root);
        folders.retain(|folder| package(folder) == Some(true));
        if folders.is_empty() {
            return Err(none());
        }
        let counters = folders.iter().map(|folder| Counter::new(folder)).collect::<Result<_>>()?;
        Ok(Self { counters })
    }

    /// Starts to count.
    ///
    /// # Errors
    /// [`Error::Skipped`] if a counter can't be read any more.
    pub fn start(&self) -> Result<Meter<'_>> {
        let last = self.counters.iter().map(Counter::read).collect::<Result<_>>()?;
        Ok(Meter { rapl: self, last, joules: 0.0 })
    }
}

/// Counts joules from its start on. Ask it every minute: a counter that comes to its end twice between two readings is not
/// noticed (65,000 J, some minutes of a large server).
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
    /// [`Error::Skipped`] if a counter can't be read any more.
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
/// [`Error::Skipped`] where there is none, or it does not tell.
pub fn gpu_watts() -> Result<f64> {
    watts_of(0)
}

/// Watts that CUDA's GPU of this number draws now.
fn watts_of(gpu: usize) -> Result<f64> {
    // The driver's tool counts also those that a program does not see.
    let seen = env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
    let id = seen.split(',').nth(gpu).filter(|id| !id.is_empty());
    let id = format!("--id={}", id.map_or_else(|| gpu.to_string(), str::to_owned));
    let options = ["--query-gpu=power.draw", "--format=csv,noheader,nounits", &id];
    let text = lab::probe::ask("nvidia-smi", &options);
    watts_in(text.as_deref().unwrap_or_default())
}

/// Watts, as `nvidia-smi` prints them.
///
/// # Errors
/// [`Error::Skipped`] if it tells none.
pub fn watts_in(text: &str) -> Result<f64> {
    let watts = text.trim().parse::<f64>().ok().filter(|watts| watts.is_finite() && *watts > 0.0);
    watts.ok_or_else(|| {
        untold(
            "no NVIDIA GPU reports its power here; `nvidia-smi --query-gpu=power.draw --format=csv` shows what the driver knows",
        )
    })
}

/// Joules of the NVIDIA GPU of this number while `work` runs, from its power every tenth of a second, and what `work`
/// returns.
///
/// # Errors
/// [`Error::Skipped`] where there is no GPU that tells its power, before `work` starts.
pub fn gpu_joules<T>(gpu: usize, work: impl FnOnce() -> T) -> Result<(f64, T)> {
    joules_of(move || watts_of(gpu), Duration::from_millis(100), work)
}

/// [`gpu_joules`] of any source of watts. For a reading that fails the one before stands in.
///
/// # Errors
/// [`Error::Skipped`] if no power is told.
pub fn joules_of<T>(
    watts: impl Fn() -> Result<f64> + Send + 'static,
    every: Duration,
    work: impl FnOnce() -> T,
) -> Result<(f64, T)> {
    let first = watts()?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let began = Instant::now();
    let sampler = thread::spawn(move || {
        let (mut samples, mut now) = (vec![(0.0, first)], first);
        loop {
            let last = told.load(Ordering::Acquire);
            now = watts().unwrap_or(now);
            samples.push((began.elapsed().as_secs_f64(), now));
            if last {
                return samples;
            }
            thread::sleep(every);
        }
    });
    let result = work();
    let seconds = began.elapsed().as_secs_f64();
    stop.store(true, Ordering::Release);
    let samples = sampler.join().map_err(|_| untold("the power's reader has failed"))?;
    Ok((trapezoids(&samples, seconds), result))
}

/// Watts over seconds, added up to this second with straight lines between the samples.
pub fn trapezoids(samples: &[(f64, f64)], end: f64) -> f64 {
    let pairs = samples.windows(2).filter(|pair| pair[0].0 < pair[1].0.min(end));
    let joules = pairs.map(|pair| {
        let [(start, from), (stop, to)] = [pair[0], pair[1]];
        let taken = stop.min(end) - start;
        (from + 0.5 * (to - from) * taken / (stop - start)) * taken
    });
    joules.sum()
}
