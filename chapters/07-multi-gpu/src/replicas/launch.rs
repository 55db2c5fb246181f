//! Starts a run of many ranks, each in its way.

use crate::replicas::{
    children::Children,
    detector::Limits,
    member::{HUB, Launcher, Member},
    run::{Reached, device_of, train_rank, train_threads},
    tcp::Tcp,
};
use crate::{Communicator, Error, Rank, Result, point_to_point::PATIENCE, threads};
use lab::data::DataSet;
use std::{
    env,
    net::{SocketAddr, TcpListener},
    process::{Command, Stdio},
    time::Duration,
};
use training::{Config, Watcher};

/// What ranks do together, whatever carries their messages.
pub trait Together {
    /// What it comes to.
    type Reached;

    /// All of it, by so many threads of this process.
    ///
    /// # Errors
    /// That of the rank which failed first.
    fn threads(&mut self, size: usize) -> Result<Self::Reached>;

    /// The part of this process, which is number `local` of those that share this machine's GPUs.
    ///
    /// # Errors
    /// Those of the ranks, which are told to the others.
    fn rank(&mut self, comm: impl Communicator + 'static, local: usize) -> Result<Self::Reached>;

    /// Whether the user wants no more of it, asked before all have come.
    fn stops(&mut self) -> bool;

    /// How long a rank that MPI started waits for another.
    const PATIENCE: Duration = PATIENCE;
    /// How long one waits for another whose heartbeats tell that it lives.
    const ALIVE: Duration = threads::PATIENCE;
}

/// Trains with many replicas. Every rank calls it; rank 0 keeps the run's folder.
///
/// # Errors
/// As [`train_rank`].
pub fn train(
    launcher: &Launcher,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    start(launcher, &mut Digits { config, data, watcher })
}

/// Starts what ranks do together, or this process's part of it.
///
/// # Errors
/// Those of the ranks, and those of their ways to each other.
pub fn start<W: Together>(launcher: &Launcher, work: &mut W) -> Result<W::Reached> {
    let limits = Limits::default();
    lab::limits::start_threads(launcher.threads())?;
    match launcher {
        Launcher::Threads(size) => work.threads(*size),
        Launcher::Processes(size) => {
            let hub = TcpListener::bind("127.0.0.1:0").map_err(no_hub)?;
            let mut children = start_again(&hub.local_addr().map_err(no_hub)?, *size)?;
            let mut look = || goes_on(work).and_then(|()| children.check(limits.silence));
            let reached = Tcp::lead(&hub, *size, limits, &mut look)
                .and_then(|tcp| process(tcp, launcher.local_rank(), work));
            // After a loss the ranks that have come report it at once; the others report nothing.
            children.wait(Duration::from_secs(if reached.is_ok() { 3 } else { 1 }));
            reached
        }
        Launcher::Member(member) if member.rank == Rank(0) => {
            let hub = TcpListener::bind(&member.hub).map_err(no_hub)?;
            let tcp = Tcp::lead(&hub, member.size, limits, &mut || goes_on(work))?;
            process(tcp, launcher.local_rank(), work)
        }
        Launcher::Member(member) => {
            let mut look = || goes_on(work).and_then(|()| member.has_parent());
            let tcp = Tcp::follow(&member.hub, member.rank, member.size, limits, &mut look)?;
            process(tcp, launcher.local_rank(), work)
        }
        #[cfg(feature = "mpi")]
        Launcher::Mpi(..) => {
            let mut comm = crate::comm::mpi::Mpi::start()?;
            comm.patience = W::PATIENCE;
            work.rank(comm, launcher.local_rank())
        }
    }
}

/// Starts this program again for each other rank, with the same options.
fn start_again(hub: &SocketAddr, size: usize) -> Result<Children> {
    let started = env::current_exe().and_then(|program| {
        Children::start(1..size, |rank| {
            let mut command = Command::new(&program);
            let variables = Member::here(rank, size, &hub.to_string()).variables();
            command.args(env::args_os().skip(1)).envs(variables).stdout(Stdio::null());
            command
        })
    });
    started.map_err(|e| {
        Error::Config(format!("another process can't be started ({e}); take fewer --replicas"))
    })
}

fn no_hub(error: impl std::fmt::Display) -> Error {
    Error::Config(format!(
        "rank 0 can't wait at its address ({error}); choose another one, or another port, with {HUB}"
    ))
}

/// Whether the user wants to go on waiting for the others.
fn goes_on(work: &mut impl Together) -> Result<()> {
    if work.stops() {
        return Err(Error::Config(
            "stopped before all ranks had come; start them again when they can come together"
                .into(),
        ));
    }
    Ok(())
}

// ANCHOR: train_process
/// A process's part; the others hear how it ends.
fn process<W>(mut tcp: Tcp, local: usize, work: &mut W) -> Result<W::Reached>
where
    W: Together,
{
    tcp.set_patience(W::ALIVE);
    let detector = tcp.detector();
    let reached = work.rank(tcp, local);
    match &reached {
        Ok(_) => detector.done(),
        Err(error) => detector.failed(error),
    }
    reached
}
// ANCHOR_END: train_process

/// Chapter 4's training.
struct Digits<'w> {
    config: &'w Config,
    data: &'w DataSet,
    watcher: &'w mut dyn Watcher,
}

impl Together for Digits<'_> {
    type Reached = Reached;

    fn threads(&mut self, size: usize) -> Result<Reached> {
        train_threads(size, self.config, self.data, self.watcher)
    }

    fn rank(&mut self, comm: impl Communicator + 'static, local: usize) -> Result<Reached> {
        let device = device_of(self.config.device, local);
        train_rank(comm, &Config { device, ..self.config.clone() }, self.data, self.watcher)
    }

    fn stops(&mut self) -> bool {
        self.watcher.stop()
    }
}
