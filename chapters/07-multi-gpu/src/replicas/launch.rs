//! Starts a run of many ranks, each in its way.

use crate::replicas::{
    children::Children,
    detector::Limits,
    member::{HUB, Launcher, Member},
    run::{Reached, device_of, train_rank, train_threads},
    tcp::Tcp,
};
use crate::{Communicator, Error, Rank, Result};
use lab::data::DataSet;
use std::{
    env,
    net::{SocketAddr, TcpListener},
    process::{Command, Stdio},
    time::Duration,
};
use training::{Config, Watcher};

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
    let limits = Limits::default();
    lab::limits::start_threads(launcher.threads())?;
    match launcher {
        Launcher::Threads(size) => train_threads(*size, config, data, watcher),
        Launcher::Processes(size) => {
            let hub = TcpListener::bind("127.0.0.1:0").map_err(no_hub)?;
            let mut children = start_again(&hub.local_addr().map_err(no_hub)?, *size)?;
            let mut look = || goes_on(watcher).and_then(|()| children.check(limits.silence));
            let reached = Tcp::lead(&hub, *size, limits, &mut look)
                .and_then(|tcp| train_process(tcp, *size, config, data, watcher));
            // After a loss the ranks that have come report it at once; the others report nothing.
            children.wait(Duration::from_secs(if reached.is_ok() { 3 } else { 1 }));
            reached
        }
        Launcher::Member(member) if member.rank == Rank(0) => {
            let hub = TcpListener::bind(&member.hub).map_err(no_hub)?;
            let tcp = Tcp::lead(&hub, member.size, limits, &mut || goes_on(watcher))?;
            train_process(tcp, member.local(), config, data, watcher)
        }
        Launcher::Member(member) => {
            let mut look = || goes_on(watcher).and_then(|()| member.has_parent());
            let tcp = Tcp::follow(&member.hub, member.rank, member.size, limits, &mut look)?;
            train_process(tcp, member.local(), config, data, watcher)
        }
        #[cfg(feature = "mpi")]
        Launcher::Mpi(..) => {
            let comm = crate::comm::mpi::Mpi::start()?;
            train_here(comm, crate::replicas::member::local_mpi(), config, data, watcher)
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
fn goes_on(watcher: &mut dyn Watcher) -> Result<()> {
    if watcher.stop() {
        return Err(Error::Config(
            "stopped before all ranks had come; start them again when they can come together"
                .into(),
        ));
    }
    Ok(())
}

// ANCHOR: train_process
/// A process's run; the others hear how it ends.
fn train_process(
    tcp: Tcp,
    local: usize,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    let detector = tcp.detector();
    let reached = train_here(tcp, local, config, data, watcher);
    match &reached {
        Ok(_) => detector.done(),
        Err(error) => detector.failed(error),
    }
    reached
}
// ANCHOR_END: train_process

/// A process's run with its part of the cores and GPUs, which it has to itself if `local` is 1.
fn train_here(
    comm: impl Communicator + 'static,
    local: usize,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    let device = device_of(config.device, comm.rank().0 % local.max(1));
    let config = Config { device, ..config.clone() };
    train_rank(comm, &config, data, watcher)
}
