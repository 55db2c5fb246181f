//! What is measured of replicas: how fast they are together, and how fast a failure is detected.

use crate::{
    Communicator, Error, Rank, Result,
    replicas::{
        children::Children,
        link::{Link, Spent},
        member::Member,
        run::{engine, in_own_pool, threads_each, train_learner},
        tcp,
    },
    split::{stage::Of, tensor::dense},
    threads,
};
use dfdx::prelude::Cpu;
use engine::{cpu::Cpu as Cores, model::Model, step::Whole};
use lab::{
    Budget, Experiment, Recorder, Samples, data::DataSet, probe::tied, record::ParamList,
    run::CURVES,
};
use mixed_precision::amp::makers;
use performance::learner::{self, Engine};
use std::{
    hash::{BuildHasher, RandomState},
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use training::{
    Config, Outcome, Settings, Silent, measured::command, optimizer::Rule, team::Alone,
    train_stepper,
};

lab::keys! {
    /// Images in a second.
    pub REPLICAS: measured "multi_gpu.replicas", ImagesPerSecond, ["model", "batch", "engine", "p"];
    /// How many times as fast as one replica.
    pub SPEEDUP: measured "multi_gpu.replicas.speedup", Ratio, ["model", "batch", "engine", "p"];
    /// Rank 0's forward and backward passes of a step.
    COMPUTE: measured "multi_gpu.replicas.compute", Seconds, ["model", "batch", "engine", "p"];
    /// Its all-reduce and waiting.
    SUM: measured "multi_gpu.replicas.sum", Seconds, ["model", "batch", "engine", "p"];
    /// A step.
    STEP: measured "multi_gpu.replicas.step", Seconds, ["model", "batch", "engine", "p"];
    /// From a signal to the end of the last other process.
    pub FAILURES: measured "multi_gpu.failures", Seconds, ["signal", "p", "time"];
    /// The longest of these.
    pub WORST: measured "multi_gpu.failures.worst", Seconds, ["signal", "p"];
}

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full REPLICAS.name => &[REPLICAS, SPEEDUP, COMPUTE, SUM, STEP], replicas,
            "how fast 1, 2 and 4 replicas train together, and where the time of a step goes";
        full FAILURES.name => &[FAILURES, WORST], failures,
            "how long it takes from the end of one process until the last of the others has ended";
    }
}

/// Numbers of ranks.
pub const RANKS_TRIED: [usize; 3] = [1, 2, 4];

/// 784-2048-2048-10: 5.8 million parameters, so that a step has work that is worth splitting.
pub const LARGE: [usize; 4] = [784, 2048, 2048, 10];

/// A job: its model, its batch, and how many images an epoch has.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The model's name in the records.
    pub model: &'static str,
    /// Images of a step, all ranks together.
    pub batch: usize,
    /// Images of an epoch.
    pub images: usize,
}

/// The jobs that are tried.
pub const JOBS: [Job; 3] = [
    Job { model: "mlp", batch: 128, images: 12_800 },
    Job { model: "mlp", batch: 4096, images: 16_384 },
    Job { model: "large", batch: 512, images: 1536 },
];

/// The transports between ranks of one process.
pub const ENGINES: [&str; 2] = ["threads", "tcp"];

impl Job {
    fn config(self, epochs: usize) -> Config {
        let Self { batch, images, .. } = self;
        let base = Settings { batch, epochs, limit: Some(images), ..Settings::default() };
        Config {
            settings: Settings { optimizer: Rule::Adam, dropout: 0.0, ..base },
            makers: makers(),
            ..Config::default()
        }
    }

    fn operations(self, settings: &Settings) -> Result<Model> {
        match self.model {
            "large" => Ok(dense(&LARGE, 0, 1, Of::new(0, 1))?.0),
            _ => Ok(learner::of(settings)),
        }
    }

    fn rank(self, comm: impl Communicator + 'static, data: &DataSet) -> Result<(Outcome, Spent)> {
        let (dev, config) = (Cpu::seed_from_u64(0), self.config(EPOCHS));
        let link = Link::new(Arc::new(Mutex::new(comm)));
        let engine = engine(&link, &dev, &config.settings, self.operations(&config.settings)?)?;
        train_learner(Box::new(engine), &dev, &link, &config, data, &mut Silent)
    }

    /// Rank 0's outcome with so many ranks, each on one thread.
    ///
    /// # Errors
    /// What a rank fails with.
    pub fn ranks(self, engine: &str, size: usize, data: &DataSet) -> Result<(Outcome, Spent)> {
        let mut all = match engine {
            "tcp" => tcp::run(size, |comm| in_own_pool(comm.rank(), 1, || self.rank(comm, data))),
            _ => threads::run(size, |comm| in_own_pool(comm.rank(), 1, || self.rank(comm, data))),
        }?;
        Ok(all.swap_remove(0))
    }

    /// One device with all cores and no replicas.
    ///
    /// # Errors
    /// What a rank fails with.
    pub fn alone(self, data: &DataSet) -> Result<Outcome> {
        in_own_pool(Rank(0), threads_each(1), || {
            let (dev, config) = (Cpu::seed_from_u64(0), self.config(EPOCHS));
            let (settings, cores) = (&config.settings, Cores::new(learner::threads()));
            let model = self.operations(settings)?;
            let mut engine = Engine::split(cores, &dev, settings, model, Box::new(Whole));
            Ok(train_stepper(&mut engine, &Alone, &dev, &config, data, &mut Silent)?)
        })
    }
}

/// Epochs of a run; the first warms up and is not counted.
const EPOCHS: usize = 3;

/// Images per second in the best epoch but the first: other programs can only make it slower.
pub fn rate(outcome: &Outcome) -> f64 {
    outcome.history.iter().skip(1).map(|epoch| epoch.images_per_second).fold(f64::NAN, f64::max)
}

fn load(rec: &Recorder) -> lab::Result<DataSet> {
    let data = rec.data_set()?;
    Ok(DataSet { test: data.test.first(250), ..data })
}

fn replicas(rec: &mut Recorder) -> lab::Result<()> {
    let data = load(rec)?;
    let repetitions = if rec.budget == Budget::Full { 5 } else { 1 };
    for job in JOBS {
        let mut sides: Vec<(&str, usize)> = vec![("alone", 1)];
        sides.extend(ENGINES.iter().flat_map(|engine| RANKS_TRIED.map(|size| (*engine, size))));
        let mut found = vec![[const { Vec::new() }; 3]; sides.len()];
        for _ in 0..repetitions {
            // In turns, so that other load on the machine disturbs all sides alike.
            for (side, (engine, size)) in found.iter_mut().zip(&sides) {
                rec.note_at(REPLICAS.at(&[("model", &job.model), ("engine", engine), ("p", size)]));
                if *engine == "alone" {
                    side[0].push(rate(&job.alone(&data)?));
                    continue;
                }
                let (outcome, spent) = job.ranks(engine, *size, &data)?;
                side[0].push(rate(&outcome));
                side[1].push(spent.compute / spent.steps as f64);
                side[2].push(spent.sum / spent.steps as f64);
            }
        }
        for (at, (engine, size)) in sides.iter().enumerate() {
            let list: ParamList =
                &[("model", &job.model), ("batch", &job.batch), ("engine", engine), ("p", size)];
            let [mine, compute, sum] = found[at].clone().map(Samples);
            let first = sides.iter().position(|side| *side == (*engine, 1)).unwrap_or(0);
            let one = Samples(found[first][0].clone());
            rec.record(REPLICAS.at(list), mine.clone());
            rec.record(STEP.at(list), mine.clone().map(|rate| job.batch as f64 / rate));
            rec.record(SPEEDUP.at(list), mine.paired(&one, |rate, one| rate / one));
            if *engine != "alone" {
                rec.record(COMPUTE.at(list), compute);
                rec.record(SUM.at(list), sum);
            }
        }
    }
    processes(rec, repetitions)
}

/// The speed of real processes, as the command itself trains with them.
fn processes(rec: &mut Recorder, repetitions: usize) -> lab::Result<()> {
    let job = JOBS[0];
    for engine in ["processes", "mpi"] {
        for size in [2_usize, 4] {
            let list: ParamList =
                &[("model", &job.model), ("batch", &job.batch), ("engine", &engine), ("p", &size)];
            let Some(program) = command::program() else {
                rec.skip_at(REPLICAS.at(list), command::NONE);
                continue;
            };
            if engine == "mpi" && !cfg!(feature = "mpi") {
                rec.skip_at(REPLICAS.at(list), "this build has no MPI; build with --features mpi");
                continue;
            }
            let rates = (0..repetitions).map(|_| process_rate(rec, &program, job, engine, size));
            let rates = rates.collect::<lab::Result<_>>()?;
            rec.record(REPLICAS.at(list), Samples(rates));
        }
    }
    Ok(())
}

/// A number from 0 to `below` that is another one in each run.
pub fn dice(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below.max(1)
}

/// The `train` of a job, without its folder and its data set.
fn arguments(job: Job, epochs: usize) -> Vec<String> {
    let mut words: Vec<String> =
        ["train", "--device", "cpu", "--dropout", "0"].map(String::from).into();
    for (option, value) in [("--batch", job.batch), ("--limit", job.images), ("--epochs", epochs)] {
        words.extend([option.to_owned(), value.to_string()]);
    }
    words
}

fn process_rate(
    rec: &Recorder,
    program: &Path,
    job: Job,
    engine: &str,
    size: usize,
) -> lab::Result<f64> {
    let words = arguments(job, EPOCHS);
    let process = if engine == "mpi" {
        let mut mpirun = Command::new("mpirun");
        mpirun.args(["--allow-run-as-root", "--oversubscribe", "-n", &size.to_string()]);
        mpirun.arg(program).args(words);
        mpirun
    } else {
        let mut own = Command::new(program);
        own.args(words).args(["--replicas", &size.to_string(), "--processes"]);
        own
    };
    let done = command::train(process, rec.data.as_deref())?;
    // The first epoch warms up.
    let rates = done.epochs.iter().skip(1).map(|epoch| epoch.images_per_second);
    Ok(rates.fold(f64::NAN, f64::max))
}

/// Ranks of a run that is to be disturbed.
const CREW: usize = 4;

/// Processes that train until they are killed.
fn crew(rec: &Recorder, program: &Path, run: &Path) -> Result<Children> {
    let failed = |e: std::io::Error| Error::Config(format!("a process can't be started ({e})"));
    // A port that is free now; rank 0 takes it in a moment.
    let hub = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let hub = hub.map_err(failed)?.to_string();
    let rank = |rank| {
        let mut command = Command::new(program);
        tied(&mut command)
            .args(arguments(JOBS[0], 1_000_000))
            .args([Path::new("--run"), run])
            .args(rec.data.iter().flat_map(|data| [Path::new("--data"), data]))
            .envs(Member::here(rank, CREW, &hub).variables())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    Children::start(0..CREW, rank).map_err(failed)
}

/// Seconds until all but `victim` have ended; none if one has not after a minute.
fn ended(crew: &mut Children, victim: usize) -> Option<f64> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_mins(1) {
        let mut others = crew.0.iter_mut().enumerate().filter(|(rank, _)| *rank != victim);
        if others.all(|(_, child)| !matches!(child.process.try_wait(), Ok(None))) {
            return Some(begun.elapsed().as_secs_f64());
        }
        thread::sleep(Duration::from_millis(2));
    }
    None
}

/// How a process is disturbed, and how often it is tried.
pub const SIGNALS: [(&str, usize); 2] = [("KILL", 10), ("STOP", 5)];

fn failures(rec: &mut Recorder) -> lab::Result<()> {
    for (signal, times) in SIGNALS {
        let list: ParamList = &[("signal", &signal), ("p", &CREW)];
        let Some(program) = command::program().filter(|_| cfg!(unix)) else {
            rec.skip_at(FAILURES.at(list), command::NONE);
            continue;
        };
        let mut seconds = Vec::new();
        for time in 0..times {
            rec.note_at(FAILURES.at(&[("signal", &signal), ("time", &time)]));
            seconds.push(end_of_one(rec, &program, signal)?);
        }
        let worst = seconds.iter().copied().fold(f64::NAN, f64::max);
        rec.record(FAILURES.at(list), Samples(seconds));
        rec.one(WORST.at(list), worst);
    }
    Ok(())
}

/// Starts processes, disturbs one at a random moment, and times the end of the others.
fn end_of_one(rec: &Recorder, program: &Path, signal: &str) -> lab::Result<f64> {
    let run = tempfile::tempdir().map_err(|e| lab::Error::io(&std::env::temp_dir(), e))?;
    let curves = run.path().join(CURVES);
    let mut crew = crew(rec, program, run.path())?;
    let until = Instant::now() + Duration::from_mins(1);
    // The curves come after the first epoch.
    while !curves.exists() {
        if Instant::now() > until {
            return Err(lab::Error::message(
                "the processes do not start training; check that nothing else runs here",
            ));
        }
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(dice(2000)));
    let victim = dice(CREW as u64) as usize;
    let kill = format!("kill -{signal} {}", crew.0[victim].process.id());
    let sent = Command::new("sh").args(["-c", &kill]).status();
    if !sent.is_ok_and(|status| status.success()) {
        return Err(lab::Error::message("a signal can't be sent to a process: is there a shell?"));
    }
    ended(&mut crew, victim).ok_or_else(|| {
        lab::Error::message(format!(
            "after rank {victim} got SIG{signal}, another rank did not end"
        ))
    })
}
