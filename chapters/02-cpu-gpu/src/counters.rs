//! What the hardware counts: Nsight Compute (`ncu`) runs one kernel of the ladder and reads the GPU's counters.
//!
//! The simulator says what a kernel asks of the memory; here is who can contradict it. `ncu` starts a program, replays
//! its kernels and prints a table. The program is this one: it starts itself again with [`VARIABLE`] set, and then
//! launches one rung ([`run_if_asked`]) instead of measuring.
//!
//! Source: Nsight Compute documentation, "Command Line Interface" (options, CSV) and "Profiling Guide" (metrics: requests,
//! sectors, wavefronts, bank conflicts).

use crate::{
    Error, Result, gpu,
    ladder::{self, Operands},
    simt,
};
use lab::random::numbers;
use matmul::Shape;
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

lab::named! {
    /// Something that both the simulator and the hardware count.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Counter("counter") {
        /// Loads from global memory, one for each warp.
        LoadRequests = "load_requests",
        /// Sectors of 32 bytes that those loads touched.
        LoadSectors = "load_sectors",
        /// Stores to global memory, one for each warp.
        StoreRequests = "store_requests",
        /// Sectors that those stores touched.
        StoreSectors = "store_sectors",
        /// Passes that loads from and stores to shared memory took.
        SharedPasses = "shared_passes",
        /// Those of them that bank conflicts cost.
        BankConflicts = "bank_conflicts",
        /// Multiplications with an addition, one for each thread.
        Fma = "fma",
        /// Branches at which the threads of a warp went different ways.
        Divergences = "divergences",
    }
}

impl Counter {
    /// Nsight Compute's name for it, for GPUs since Volta.
    pub fn metric(self) -> &'static str {
        match self {
            Self::LoadRequests => "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            Self::LoadSectors => "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            Self::StoreRequests => "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            Self::StoreSectors => "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            Self::SharedPasses => "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
            Self::BankConflicts => "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            Self::Fma => "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
            Self::Divergences => "smsp__sass_branch_targets_threads_divergent.sum",
        }
    }
}

/// Counts of one launch. A counter that this GPU does not have is absent.
pub type CounterValues = BTreeMap<Counter, f64>;

/// What the simulator counted, under the hardware's names.
pub fn simulated(counts: &simt::Counts) -> CounterValues {
    Counter::ALL
        .into_iter()
        .map(|counter| {
            let count = match counter {
                Counter::LoadRequests => counts.load_requests,
                Counter::LoadSectors => counts.load_sectors,
                Counter::StoreRequests => counts.store_requests,
                Counter::StoreSectors => counts.store_sectors,
                Counter::SharedPasses => counts.shared_passes,
                Counter::BankConflicts => counts.conflicts(),
                Counter::Fma => counts.flops / 2,
                Counter::Divergences => counts.divergences,
            };
            (counter, count as f64)
        })
        .collect()
}

/// How far `simulated` is off, as a fraction of what the hardware counted; `None` where it counted nothing and the
/// simulator something.
///
/// ```
/// use cpu_gpu::counters::error;
/// assert_eq!(error(110.0, 100.0), Some(0.1));
/// assert_eq!(error(0.0, 0.0), Some(0.0));
/// assert_eq!(error(5.0, 0.0), None);
/// ```
pub fn error(simulated: f64, hardware: f64) -> Option<f64> {
    let off = (simulated - hardware).abs();
    if off == 0.0 {
        Some(0.0)
    } else if hardware == 0.0 {
        None
    } else {
        Some(off / hardware)
    }
}

/// The program that reads the counters: named by `THROUGHPUT_NCU`, else on `PATH`, else where CUDA's installers put it.
///
/// # Errors
/// A message if there is none.
pub fn find() -> Result<PathBuf> {
    if let Some(named) = env::var_os("THROUGHPUT_NCU") {
        return Ok(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> =
        env::split_paths(&path).map(|folder| folder.join("ncu")).collect();
    places.push("/usr/local/cuda/bin/ncu".into());
    let versions = fs::read_dir("/opt/nvidia/nsight-compute").into_iter().flatten().flatten();
    places.extend(versions.map(|version| version.path().join("ncu")));
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        Error::message(
            "this machine has no Nsight Compute (`ncu`), which reads a GPU's counters; install it with the CUDA toolkit, \
             or name it in THROUGHPUT_NCU",
        )
    })
}

/// The environment variable that turns this program into one launch: `RUNG:N`.
pub const VARIABLE: &str = "THROUGHPUT_COUNTERS_RUN";

/// Launches the rung that [`VARIABLE`] names, on a product of n×n matrices, once. Returns whether there was one.
///
/// # Errors
/// A message if the variable is not of its form, or the GPU refuses.
pub fn run_if_asked() -> Result<bool> {
    let Ok(words) = env::var(VARIABLE) else { return Ok(false) };
    let (rung, n) = asked(&words)?;
    launch(rung, n)?;
    Ok(true)
}

/// `RUNG:N`.
///
/// # Errors
/// If it has another form.
pub fn asked(words: &str) -> Result<(&str, usize)> {
    words.split_once(':').and_then(|(rung, n)| Some((rung, n.parse().ok()?))).ok_or_else(|| {
        Error::message(format!("{VARIABLE}={words} is not of the form RUNG:N, such as naive:256"))
    })
}

/// Launches a rung once, for whoever counts.
///
/// # Errors
/// The device's.
pub fn launch(rung: &str, n: usize) -> Result<()> {
    let rung = ladder::rung(rung)?;
    let gpu = gpu::open("cuda")?;
    let shape = Shape::square(n);
    let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
    let operands = Operands::new(&*gpu, &a, &b, shape)?;
    rung.compile(&*gpu, shape)?.launch(&*gpu, operands.args(), shape)?;
    gpu.finish()
}

/// The program that `ncu` starts, and its arguments.
#[derive(Clone, Debug)]
pub struct Target {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. It must come to [`run_if_asked`].
    pub arguments: Vec<String>,
}

impl Target {
    /// This program, with the arguments that lead it to `experiment`; it leaves no record there.
    ///
    /// # Errors
    /// If the system does not say which program this is.
    pub fn this(experiment: &str, records: &Path) -> Result<Self> {
        let program = env::current_exe().map_err(|e| {
            Error::message(format!("the system does not say which program this is ({e})"))
        })?;
        let records = records.display().to_string();
        let arguments = ["measure", experiment, "--records", &records];
        Ok(Self { program, arguments: arguments.map(str::to_owned).to_vec() })
    }
}

/// Counts one launch of `rung` on n×n matrices.
///
/// # Errors
/// A message that says what is missing: `ncu`, the permission to read counters, or what went wrong in the launch.
pub fn profile(ncu: &Path, target: &Target, rung: &str, n: usize) -> Result<CounterValues> {
    let folder =
        env::temp_dir().join(format!("throughput-counters-{}-{rung}-{n}", std::process::id()));
    fs::create_dir_all(&folder)
        .map_err(|e| Error::message(format!("{}: {e}", folder.display())))?;
    let log = folder.join("ncu.csv");
    let metrics: Vec<&str> = Counter::ALL.iter().map(|counter| counter.metric()).collect();
    let run = Command::new(ncu)
        .args([
            // Or it would set the card's clock to its base, for everyone who uses it. Counts depend on no clock.
            "--clock-control",
            "none",
            "--csv",
            "--print-units",
            "base",
            "--launch-count",
            "1",
            "--kernel-name",
            rung,
            "--metrics",
        ])
        .arg(metrics.join(","))
        .arg("--log-file")
        .arg(&log)
        .arg(&target.program)
        .args(&target.arguments)
        .env(VARIABLE, format!("{rung}:{n}"))
        .env("LC_ALL", "C") // or numbers are written as the reader's country does
        .output();
    let table = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_dir_all(&folder);
    let output =
        run.map_err(|e| Error::message(format!("`{}` does not start: {e}", ncu.display())))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // What ncu says goes to the log, or, before it has one, to the terminal.
    let all = format!("{table}\n{}\n{}", said(&output.stdout), said(&output.stderr));
    if let Some(why) = trouble(&all) {
        return Err(Error::message(why));
    }
    if !output.status.success() {
        let last = all.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it prints nothing");
        return Err(Error::message(format!("`ncu` ended with {}: {}", output.status, last.trim())));
    }
    parse(&table, rung)
}

/// The troubles that `ncu` tells of, as a message that says what to do.
pub fn trouble(words: &str) -> Option<String> {
    if words.contains("ERR_NVGPUCTRPERM") {
        return Some(
            "only an administrator may read this GPU's counters (ERR_NVGPUCTRPERM); run the measurement as root, or let \
             an administrator set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module \
             (https://developer.nvidia.com/ERR_NVGPUCTRPERM)"
                .to_owned(),
        );
    }
    if words.contains("No kernels were profiled") {
        let said = words.lines().find_map(|line| line.trim().strip_prefix("error: "));
        return Some(format!(
            "`ncu` saw no kernel{}; run `throughput doctor` to see whether CUDA works here",
            said.map(|said| format!(" (the program says: {said})")).unwrap_or_default()
        ));
    }
    words
        .lines()
        .find_map(|line| line.trim().strip_prefix("==ERROR== "))
        .map(|said| format!("`ncu` failed: {}", said.trim()))
}

/// Reads the table that `ncu --csv` prints: a line with the columns' names, then one line for each metric of each kernel,
/// among lines that begin with `==`. Counters that the GPU does not have (`n/a`) are left out.
///
/// # Errors
/// A message if there is no table, or a value that is no number.
pub fn parse(text: &str, kernel: &str) -> Result<CounterValues> {
    let none = || Error::message("`ncu` printed no table; run it by hand to see what it says");
    let mut rows = text.lines().filter(|line| line.starts_with('"')).map(fields);
    let (columns, [name, metric, unit, value]) = rows
        .find_map(|row| {
            let at = |column: &str| row.iter().position(|field| field == column);
            let found =
                [at("Kernel Name")?, at("Metric Name")?, at("Metric Unit")?, at("Metric Value")?];
            Some((row.len(), found))
        })
        .ok_or_else(none)?;
    let mut counts = CounterValues::new();
    for row in rows.filter(|row| row.len() == columns) {
        // A kernel's name may have its parameters behind it.
        if row[name].split('(').next() != Some(kernel) {
            continue;
        }
        let Some(counter) = Counter::ALL.into_iter().find(|c| c.metric() == row[metric]) else {
            continue;
        };
        if matches!(row[value].as_str(), "n/a" | "") {
            continue;
        }
        let count = number(&row[value]).and_then(|count| Some(count * scale(&row[unit])?));
        let count = count.ok_or_else(|| {
            Error::message(format!(
                "`ncu` says `{} {}` for {}, which is no count",
                row[value], row[unit], row[metric]
            ))
        })?;
        // Of several launches of one name, the first.
        counts.entry(counter).or_insert(count);
    }
    if counts.is_empty() { Err(none()) } else { Ok(counts) }
}

/// The fields of a line of CSV. Quotes within a field are doubled.
pub fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        let last = fields.last_mut().expect("there is always one");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                last.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => last.push(c),
        }
    }
    fields
}

/// A count, with or without its thousands apart: `1,048,576`, `1.048.576`, `1048576`, `1048576.00`.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    for separator in [',', '.', ' ', '\u{a0}', '\u{202f}', '\''] {
        let mut groups = text.split(separator);
        let first = groups.next()?;
        let rest: Vec<&str> = groups.collect();
        let apart = !rest.is_empty() && digits(first) && first.len() <= 3 && first != "0";
        if apart && rest.iter().all(|group| group.len() == 3 && digits(group)) {
            return text.replace(separator, "").parse().ok();
        }
    }
    // Thousands apart and a fraction: a count has none but zeros.
    if let Some((whole, fraction)) = text.rsplit_once(['.', ','])
        && fraction.bytes().all(|b| b == b'0')
        && !whole.is_empty()
    {
        return number(whole);
    }
    if digits(text) { text.parse().ok() } else { None }
}

/// What a unit's prefix multiplies. Counts have units such as `sector`, `request`, `inst`, or none.
fn scale(unit: &str) -> Option<f64> {
    match unit.trim().chars().next() {
        Some('%') => None,
        Some('K') => Some(1e3),
        Some('M') => Some(1e6),
        Some('G') => Some(1e9),
        _ => Some(1.0),
    }
}
