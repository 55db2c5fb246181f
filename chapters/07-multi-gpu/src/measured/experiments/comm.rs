//! What messages and all-reduces take on this machine, by threads and by processes.

use crate::{
    Error, Result,
    comm::{
        algorithm::Algorithm,
        bench::{Effort, Implementation, Timing, bench, sizes},
        cost::{AlphaBeta, errors, fit},
    },
    threads,
};
use lab::{
    Budget, Experiment, Recorder, Samples,
    key::Quantity,
    peak::{Traffic, bandwidth},
    probe::tied,
    record::ParamList,
};
use std::{path::PathBuf, process::Command, time::Duration};

lab::keys! {
    /// The start-up cost.
    pub ALPHA: measured "multi_gpu.alpha_beta.alpha", Seconds, ["engine", "from"];
    /// The time for a byte.
    pub BETA: measured "multi_gpu.alpha_beta.beta", Seconds, ["engine", "from"];
    /// Bytes in a second, if there is a limit.
    BANDWIDTH: measured "multi_gpu.alpha_beta.bandwidth", BytesPerSecond, ["engine", "from"];
    /// The median error of the fit.
    ERROR: measured "multi_gpu.alpha_beta.error", Share, ["engine", "from"];
    /// Its largest error.
    WORST: measured "multi_gpu.alpha_beta.worst", Share, ["engine", "from"];
    /// An all-reduce.
    pub ALL_REDUCE: measured "multi_gpu.all_reduce", Seconds, ["engine", "way", "p", "bytes"];
    /// Its bus bandwidth.
    pub BUS: measured "multi_gpu.all_reduce.bus", BytesPerSecond, ["engine", "way", "p", "bytes"];
}

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick "multi_gpu.alpha_beta" => &[ALPHA, BETA, BANDWIDTH, ERROR, WORST], |rec| Ok(alpha_beta(rec)?),
            "the start-up cost and the time per byte of a message, between threads and between processes";
        quick ALL_REDUCE.name => &[ALL_REDUCE, BUS], |rec| Ok(all_reduce(rec)?),
            "how long naive, tree, halving and ring all-reduces take, by ranks and bytes";
    }
}

/// The transports.
const ENGINES: [&str; 2] = ["threads", "mpi"];

/// How much is measured, by the budget.
struct Plan {
    largest: usize,
    effort: Effort,
}

impl Plan {
    fn of(budget: Budget) -> Self {
        let (largest, milliseconds, most) = match budget {
            Budget::Quick => (4 << 20, 15, 7),
            Budget::Full => (64 << 20, 150, 21),
        };
        let effort = Effort { time: Duration::from_millis(milliseconds), least: 3, most };
        Self { largest, effort }
    }

    /// The timings of `p` ranks on an engine; `None`, and a note in the records of these, where there are none.
    fn timings(
        &self,
        rec: &mut Recorder,
        (engine, p): (&str, usize),
        keys: &[Quantity],
    ) -> Result<Option<Vec<Timing>>> {
        rec.note_at(&keys[0]);
        let found = if engine == "mpi" {
            self.by_mpi(p)
        } else {
            let ways = Algorithm::ALL.map(Implementation::Ours);
            let sizes = sizes(self.largest);
            let ranks = threads::run(p, |mut comm| bench(&mut comm, &ways, &sizes, self.effort))?;
            Ok(ranks.into_iter().next().unwrap_or_default())
        };
        for (key, why) in keys.iter().zip(found.as_ref().err().into_iter().cycle()) {
            rec.skip_at(key.clone(), why);
        }
        Ok(found.ok())
    }

    /// Starts the program `mpi_bench`, which lies next to this one, under `mpirun`.
    fn by_mpi(&self, p: usize) -> std::result::Result<Vec<Timing>, String> {
        let program = mpi_bench().ok_or(
            "there is no program mpi_bench next to this one; build it with Open MPI: \
             cargo build -p multi_gpu --features mpi",
        )?;
        let output = tied(&mut Command::new("mpirun"))
            .args(["--allow-run-as-root", "--oversubscribe", "--timeout", "600"])
            .args(["-n", &p.to_string()])
            .arg(program)
            .args([
                self.largest.to_string(),
                self.effort.time.as_millis().to_string(),
                self.effort.most.to_string(),
            ])
            .output()
            .map_err(|_| "there is no mpirun; install Open MPI (see `throughput doctor`)")?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let words = String::from_utf8_lossy(&output.stderr);
            format!("mpirun failed: {}", words.trim().lines().next().unwrap_or("no message"))
        })
    }
}

/// The program that times MPI: next to this one, or a folder above (where tests lie).
fn mpi_bench() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let name = format!("mpi_bench{}", std::env::consts::EXE_SUFFIX);
    here.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

/// What an all-reduce implies about one message: its bytes and its seconds, if the formula is right.
pub fn as_message(algorithm: Algorithm, timing: &Timing, seconds: f64) -> (f64, f64) {
    let bytes = timing.bytes as f64;
    let messages = algorithm.seconds(AlphaBeta { alpha: 1.0, beta: 0.0 }, bytes, timing.p);
    let carried = algorithm.seconds(AlphaBeta { alpha: 0.0, beta: 1.0 }, bytes, timing.p);
    (carried / messages, seconds / messages)
}

/// The fit to one repetition of each timing, for as many as all have.
pub fn fits(timings: &[&Timing], message: impl Fn(&Timing, f64) -> (f64, f64)) -> Vec<AlphaBeta> {
    let repetitions = timings.iter().map(|t| t.seconds.len()).min().unwrap_or(0);
    (0..repetitions)
        .filter_map(|at| {
            fit(&timings.iter().map(|t| message(t, t.seconds[at])).collect::<Vec<_>>())
        })
        .collect()
}

fn alpha_beta(rec: &mut Recorder) -> Result<()> {
    let plan = Plan::of(rec.budget);
    for engine in ENGINES {
        let keys = [ALPHA, BETA].map(|key| key.at(&[("engine", &engine)]));
        let Some(timings) = plan.timings(rec, (engine, 2), &keys)? else { continue };
        let from = |what: &str| timings.iter().filter(|t| t.what == what).collect::<Vec<_>>();
        record_fit(rec, engine, "message", &from("message"), |t, s| (t.bytes as f64, s))?;
        for algorithm in [Algorithm::Naive, Algorithm::Tree, Algorithm::Ring] {
            let name = algorithm.name();
            record_fit(rec, engine, name, &from(name), |t, s| as_message(algorithm, t, s))?;
        }
    }
    Ok(())
}

/// Records α and β from these timings, and how well they fit the medians.
fn record_fit(
    rec: &mut Recorder,
    engine: &str,
    from: &str,
    timings: &[&Timing],
    message: impl Fn(&Timing, f64) -> (f64, f64),
) -> Result<()> {
    let list: ParamList = &[("engine", &engine), ("from", &from)];
    let found = fits(timings, &message);
    if found.is_empty() {
        return Err(Error::Config(format!("{engine} has too few timings of {from} to fit")));
    }
    let samples = |f: fn(&AlphaBeta) -> f64| Samples(found.iter().map(f).collect());
    let alpha = rec.record(ALPHA.at(list), samples(|x| x.alpha));
    let beta = rec.record(BETA.at(list), samples(|x| x.beta));
    if beta > 0.0 {
        rec.record(BANDWIDTH.at(list), samples(|x| 1.0 / x.beta));
    }
    let link = AlphaBeta { alpha, beta };
    let pairs: Vec<_> = timings
        .iter()
        .map(|t| {
            let (bytes, seconds) = message(t, Samples(t.seconds.clone()).median());
            (link.message(bytes), seconds)
        })
        .collect();
    let (median, worst) = errors(&pairs);
    rec.one(ERROR.at(list), median);
    rec.one(WORST.at(list), worst);
    Ok(())
}

fn all_reduce(rec: &mut Recorder) -> Result<()> {
    let plan = Plan::of(rec.budget);
    let memory = bandwidth(Traffic::Copy, lab::machine::cores());
    for engine in ENGINES {
        for p in [1, 2, 4] {
            let key = ALL_REDUCE.at(&[("engine", &engine), ("p", &p)]);
            let Some(timings) = plan.timings(rec, (engine, p), &[key])? else { continue };
            for t in timings.iter().filter(|t| t.what != "message") {
                let list: ParamList =
                    &[("engine", &engine), ("way", &t.what), ("p", &p), ("bytes", &t.bytes)];
                let seconds = Samples(t.seconds.clone());
                rec.record(ALL_REDUCE.at(list), seconds.clone());
                if p > 1 {
                    // What each rank must send and receive at the least.
                    let least = 2.0 * (p as f64 - 1.0) / p as f64 * t.bytes as f64;
                    rec.record(BUS.at(list).against(memory.clone()), seconds.map(|s| least / s));
                }
            }
        }
    }
    Ok(())
}
