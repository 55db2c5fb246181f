//! How ranks come to be: threads of this process, processes that this one starts, processes that somebody started on
//! several machines, or MPI's.

use crate::{
    Communicator, Error, Rank, Result,
    replicas::{
        heartbeat::{Heart, Limits, connect},
        run::{Reached, device_of, threads_each, train_rank, train_threads},
        tcp::Tcp,
        words,
    },
};
use lab::data::DataSet;
use std::{
    env,
    net::{TcpListener, UdpSocket},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use training::{Config, Watcher};

/// Which rank a process is, if it was started as one.
pub const RANK: &str = "THROUGHPUT_RANK";
/// How many ranks there are.
pub const RANKS: &str = "THROUGHPUT_RANKS";
/// Where rank 0 waits for the others: `192.168.0.7:7000`.
pub const HUB: &str = "THROUGHPUT_HUB";
/// How many of the ranks are on this machine, if not one.
pub const LOCAL: &str = "THROUGHPUT_LOCAL";
/// What Open MPI sets in each process that `mpirun` starts.
pub const MPI: &str = "OMPI_COMM_WORLD_SIZE";

/// A process's place among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its rank.
    pub rank: Rank,
    /// How many there are.
    pub size: usize,
    /// Where rank 0 waits.
    pub hub: String,
    /// How many of them share this machine.
    pub local: usize,
}

impl Place {
    /// One of `size` ranks that are all on this machine.
    pub fn here(rank: usize, size: usize, hub: &str) -> Self {
        Self { rank: Rank(rank), size, hub: hub.to_owned(), local: size }
    }

    /// The variables by which a process that is started learns its place.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            (RANK, self.rank.to_string()),
            (RANKS, self.size.to_string()),
            (HUB, self.hub.clone()),
            (LOCAL, self.local.to_string()),
        ]
    }
}

/// How ranks come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Threads of this process.
    Threads(usize),
    /// This process is rank 0, and starts the others.
    Processes(usize),
    /// This process was started as one of them.
    Place(Place),
    /// `mpirun` started this process as one of so many.
    Mpi(Rank, usize),
}

impl Way {
    /// The way that the environment and the options name; none for one device. `variable` reads the environment.
    ///
    /// # Errors
    /// [`Error::Config`] that names the variable or the option.
    pub fn choose(
        variable: impl Fn(&str) -> Option<String>,
        replicas: Option<usize>,
        processes: bool,
    ) -> Result<Option<Self>> {
        let number = |name: &str| {
            let text = variable(name).ok_or_else(|| {
                let all = format!("{RANK}, {RANKS} and {HUB}");
                Error::Config(format!(
                    "{name} is missing; a rank that is started by hand needs {all}"
                ))
            })?;
            let parsed = text.parse::<usize>();
            parsed
                .map_err(|_| Error::Config(format!("{name} must be a whole number, not `{text}`")))
        };
        if variable(RANK).is_some() {
            let (rank, size) = (number(RANK)?, number(RANKS)?);
            if rank >= size {
                return Err(Error::Config(format!(
                    "{RANK} is {rank}, and with {RANKS} {size} ranks go from 0 to {}",
                    size.saturating_sub(1)
                )));
            }
            let local = if variable(LOCAL).is_some() { number(LOCAL)? } else { 1 };
            let hub = variable(HUB).ok_or_else(|| {
                Error::Config(format!(
                    "{HUB} is missing: where does rank 0 wait, such as 192.168.0.7:7000?"
                ))
            })?;
            return Ok(Some(Self::Place(Place { rank: Rank(rank), size, hub, local })));
        }
        if variable(MPI).is_some() {
            let rank = Rank(number("OMPI_COMM_WORLD_RANK")?);
            return Ok(Some(Self::Mpi(rank, number(MPI)?)));
        }
        match replicas {
            Some(0) => Err(Error::Config("--replicas must be at least 1".into())),
            Some(1) | None if processes => {
                Err(Error::Config("--processes needs --replicas with a number from 2".into()))
            }
            Some(1) | None => Ok(None),
            Some(size) if processes => Ok(Some(Self::Processes(size))),
            Some(size) => Ok(Some(Self::Threads(size))),
        }
    }

    /// The rank that this process is: threads have rank 0 among them.
    pub fn rank(&self) -> Rank {
        match self {
            Self::Threads(_) | Self::Processes(_) => Rank(0),
            Self::Place(place) => place.rank,
            Self::Mpi(rank, _) => *rank,
        }
    }

    /// The ranks in words: `4 threads`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Threads(size) => format!("{size} threads"),
            Self::Processes(size) | Self::Place(Place { size, .. }) => format!("{size} processes"),
            Self::Mpi(_, size) => format!("{size} processes of MPI"),
        }
    }
}

/// Trains with many replicas. Every rank calls it; rank 0 keeps the run's folder.
///
/// # Errors
/// As [`train_rank`].
pub fn train(
    way: &Way,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    let limits = Limits::default();
    match way {
        Way::Threads(size) => train_threads(*size, config, data, watcher),
        Way::Processes(size) => {
            let hub = TcpListener::bind("127.0.0.1:0").map_err(no_hub)?;
            let mut others = Others::start(&hub, *size)?;
            let tcp = Tcp::lead(&hub, *size, limits)?;
            let reached = train_process(tcp, *size, config, data, watcher);
            others.wait();
            reached
        }
        Way::Place(Place { rank: Rank(0), size, hub, local }) => {
            let hub = TcpListener::bind(hub).map_err(no_hub)?;
            train_process(Tcp::lead(&hub, *size, limits)?, *local, config, data, watcher)
        }
        Way::Place(Place { rank, size, hub, local }) => {
            let tcp = Tcp::follow(hub, *rank, *size, limits)?;
            train_process(tcp, *local, config, data, watcher)
        }
        #[cfg(feature = "mpi")]
        Way::Mpi(..) => {
            let mut comm = crate::comm::mpi::Mpi::start()?;
            let heart = Arc::new(heart_beside(&mut comm, limits)?);
            // MPI's own waiting can't be interrupted.
            heart.end_process_when_lost();
            let local = env::var("OMPI_COMM_WORLD_LOCAL_SIZE").ok().and_then(|n| n.parse().ok());
            let local = local.unwrap_or(1);
            train_beside(&heart, Box::new(comm), local, config, data, watcher)
        }
        #[cfg(not(feature = "mpi"))]
        Way::Mpi(_, size) => Err(Error::Config(format!(
            "mpirun started {size} processes, and this build does not know MPI; build with --features mpi, or use \
             --replicas {size} --processes, which needs no MPI"
        ))),
    }
}

fn no_hub(error: impl std::fmt::Display) -> Error {
    Error::Config(format!(
        "rank 0 can't wait at its address ({error}); choose another one, or another port, with {HUB}"
    ))
}

fn train_process(
    tcp: Tcp,
    local: usize,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    let heart = tcp.heart();
    train_beside(&heart, Box::new(tcp), local, config, data, watcher)
}

// ANCHOR: train_beside
/// A process's run, with a heart beside it that knows how it ends.
fn train_beside(
    heart: &Arc<Heart>,
    comm: Box<dyn Communicator>,
    local: usize,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    // Ranks of one machine share its cores. The pool may be there already.
    let pool = rayon::ThreadPoolBuilder::new();
    let _ = pool.num_threads(threads_each(local)).build_global();
    let device = device_of(config.device, comm.rank().0 % local.max(1));
    let config = Config { device, ..config.clone() };
    let reached = train_rank(comm, &config, data, watcher);
    match &reached {
        Ok(_) => heart.done(),
        Err(_) if heart.verdict().is_some() => {} // the others know
        Err(error) => heart.failed(&error.to_string()),
    }
    reached
}
// ANCHOR_END: train_beside

/// A watch beside an engine that has none of its own: addresses are exchanged by the engine, once.
///
/// # Errors
/// Those of the engine and of [`Heart`].
pub fn heart_beside(comm: &mut dyn Communicator, limits: Limits) -> Result<Heart> {
    let (rank, size) = (comm.rank(), comm.size());
    let hub = TcpListener::bind("0.0.0.0:0").map_err(no_hub)?;
    let port = hub.local_addr().map_err(no_hub)?.port();
    let mut address = format!("{}:{port}", own_address()).into_bytes();
    words::broadcast(comm, Rank(0), &mut address)?;
    let (heart, _) = if rank == Rank(0) {
        Heart::lead(&hub, size, "", limits)?
    } else {
        let address = String::from_utf8_lossy(&address);
        Heart::follow(connect(&address, limits.arrival)?, rank, size, "", limits)?
    };
    Ok(heart)
}

/// The address by which other machines would reach this one: the one it would send from. Nothing is sent.
fn own_address() -> String {
    let from = || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect("192.0.2.1:9")?; // an address that belongs to nobody, RFC 5737
        socket.local_addr()
    };
    from().map_or("127.0.0.1".into(), |address| address.ip().to_string())
}

/// The other processes, which this one started.
struct Others(Vec<Child>);

impl Others {
    /// Starts this program again for each other rank, with the same options.
    fn start(hub: &TcpListener, size: usize) -> Result<Self> {
        let failed = |e: std::io::Error| {
            Error::Config(format!("another process can't be started ({e}); take fewer --replicas"))
        };
        let address = hub.local_addr().map_err(no_hub)?.to_string();
        let program = env::current_exe().map_err(failed)?;
        let mut others = Self(Vec::new());
        for rank in 1..size {
            let child = Command::new(&program)
                .args(env::args_os().skip(1))
                .envs(Place::here(rank, size, &address).variables())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn();
            others.0.push(child.map_err(failed)?);
        }
        Ok(others)
    }

    /// Waits for them; those that do not end by themselves are ended.
    fn wait(&mut self) {
        let until = Instant::now() + Duration::from_secs(3);
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) {
                if Instant::now() > until {
                    let _ = child.kill();
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    fn choose(variables: &[(&str, &str)], replicas: Option<usize>, processes: bool) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        };
        match Way::choose(variable, replicas, processes) {
            Ok(way) => format!("{way:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_way_follows_from_environment_and_options() {
        assert_eq!(choose(&[], None, false), "None");
        assert_eq!(choose(&[], Some(1), false), "None");
        assert_eq!(choose(&[], Some(4), false), "Some(Threads(4))");
        assert_eq!(choose(&[], Some(4), true), "Some(Processes(4))");
        assert!(choose(&[], Some(0), false).contains("--replicas"));
        assert!(choose(&[], None, true).contains("--replicas"));
        // A process that was started as a rank is that rank, whatever the options say.
        let own = Place::here(2, 3, "10.0.0.1:7000");
        let told = own.variables();
        let place = told.each_ref().map(|(name, value)| (*name, value.as_str()));
        let wanted = Way::Place(own);
        assert_eq!(choose(&place, Some(3), true), format!("{:?}", Some(wanted)));
        assert!(choose(&place[..1], None, false).contains(RANKS));
        assert!(choose(&place[..2], None, false).contains(HUB));
        assert!(choose(&[(RANK, "3"), (RANKS, "3")], None, false).contains("from 0 to 2"));
        assert!(choose(&[(RANK, "x"), (RANKS, "3")], None, false).contains("`x`"));
        let mpi = [(MPI, "4"), ("OMPI_COMM_WORLD_RANK", "1")];
        assert_eq!(choose(&mpi, None, false), "Some(Mpi(Rank(1), 4))");
    }

    #[test]
    #[cfg(not(feature = "mpi"))]
    fn without_mpi_the_error_names_the_feature() {
        let way = Way::Mpi(Rank(0), 4);
        let data = lab::data::drawn(20, 10, 1);
        let error = train(&way, &Config::default(), &data, &mut training::Silent).unwrap_err();
        assert!(error.to_string().contains("--features mpi"), "{error}");
    }

    #[test]
    fn an_engine_without_a_watch_gets_one() {
        let named = threads::run(3, |mut comm| {
            let heart = heart_beside(&mut comm, Limits::default())?;
            if comm.rank() == Rank(1) {
                heart.failed("its disk is full");
                return Ok(Rank(1));
            }
            let verdict = heart.verdict_within(Duration::from_secs(5));
            Ok(verdict.map_or(Rank(99), |verdict| verdict.rank))
        });
        assert_eq!(named.unwrap(), [Rank(1); 3]);
    }
}
