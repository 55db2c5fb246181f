//! How ranks come to be: threads of this process, processes that this one starts, processes that were started on
//! several machines, or MPI's.

use crate::{Error, Rank, Result, replicas::run::threads_each};

/// Which rank a process is, if it was started as one.
pub const RANK: &str = "THROUGHPUT_RANK";
/// How many ranks there are.
pub const RANKS: &str = "THROUGHPUT_RANKS";
/// Where rank 0 waits for the others: `192.168.0.7:7000`.
pub const HUB: &str = "THROUGHPUT_HUB";
/// The process that started this one: without it there is nothing to train for.
pub const PARENT: &str = "THROUGHPUT_PARENT";
/// What Open MPI sets in each process that `mpirun` starts.
pub const MPI: &str = "OMPI_COMM_WORLD_SIZE";

/// A process's rank among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its rank.
    pub rank: Rank,
    /// How many there are.
    pub size: usize,
    /// Where rank 0 waits.
    pub hub: String,
    /// The process that started it, if that one is also a rank, or waits for it.
    pub parent: Option<u32>,
}

/// The most ranks that train together without MPI: each talks to every other one.
pub const MOST_RANKS: usize = 256;

/// Refuses more ranks than can be.
fn not_too_many(size: usize, name: &str) -> Result<usize> {
    if size <= MOST_RANKS {
        return Ok(size);
    }
    Err(Error::Config(format!(
        "{name} is {size}, and at most {MOST_RANKS} train together here; for more, start them by mpirun in a build with \
         --features mpi"
    )))
}

impl Member {
    /// One of `size` ranks that this process starts, all on this machine.
    pub fn here(rank: usize, size: usize, hub: &str) -> Self {
        let parent = Some(std::process::id());
        Self { rank: Rank(rank), size, hub: hub.to_owned(), parent }
    }

    /// How many of them share this machine: all that one process has started, or else this one alone.
    pub fn local(&self) -> usize {
        if self.parent.is_some() { self.size } else { 1 }
    }

    /// The variables by which a process that is started learns its rank.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            (RANK, self.rank.to_string()),
            (RANKS, self.size.to_string()),
            (HUB, self.hub.clone()),
        ];
        all.extend(self.parent.map(|parent| (PARENT, parent.to_string())));
        all
    }

    /// Fails if the process that started this one has ended.
    ///
    /// # Errors
    /// [`Error::Lost`] with rank 0, which it was.
    pub fn has_parent(&self) -> Result<()> {
        #[cfg(unix)]
        if self.parent.is_some_and(|parent| parent != std::os::unix::process::parent_id()) {
            let why = "the process that started this one has ended".to_owned();
            return Err(Error::Lost { rank: Rank(0), why });
        }
        Ok(())
    }
}

/// How many processes of MPI share this machine, and which of them a rank is: as Open MPI tells each, or else by its number.
pub fn of_machine(rank: Rank, variable: impl Fn(&str) -> Option<String>) -> [usize; 2] {
    let told = |what| variable(&format!("OMPI_COMM_WORLD_LOCAL_{what}"))?.parse().ok();
    let here: usize = told("SIZE").unwrap_or(1);
    [here, told("RANK").unwrap_or(rank.0 % here.max(1))]
}

/// Launchers: each with the variables that tell how many processes it has started, the first of them that is there, and
/// one that it sets in these alone, as a number. Some tell no size.
pub const LAUNCHERS: [(&str, &str, &str); 14] = [
    ("mpirun", MPI, "OMPI_COMM_WORLD_RANK"),
    ("mpiexec", "PMI_SIZE", "PMI_RANK"),
    ("mpirun_rsh", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    // Slurm tells the size of an allocation to its shell as well, which is no step.
    ("srun", "SLURM_STEP_NUM_TASKS SLURM_NTASKS", "SLURM_STEP_ID"),
    ("flux", "FLUX_JOB_SIZE", "FLUX_TASK_RANK"),
    ("jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"),
    ("blaunch", "LSB_DJOB_NUMPROC", "LSF_PM_TASKID"),
    ("torchrun", "WORLD_SIZE", "RANK"),
    ("mpiexec", "", "PMI_ID"),
    ("mpiexec", "", "PMI_FD"),
    ("mpiexec", "", "MPI_LOCALNRANKS"),
    ("mpiexec", "", "PALS_RANKID"),
    ("aprun", "", "ALPS_APP_PE"),
    ("a launcher", "", "PMIX_RANK"),
];

/// Where a process's environment shows that it is one of many, which this build would all let do the same: in words.
fn one_of_many(variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name: &str| variable(name)?.trim().parse::<u64>().ok();
    // The largest numbers are Slurm's own steps, such as the shell of an allocation.
    let started = |own: &str| number(own).is_some_and(|id| id < 0xffff_fff0);
    let here = || LAUNCHERS.iter().filter(|(.., own)| started(own));
    let size = |sizes: &str| sizes.split(' ').find_map(number);
    if let Some((size, by)) = here().filter_map(|(by, all, _)| Some((size(all)?, by))).max() {
        return (size > 1).then(|| format!("{by} started {size} processes"));
    }
    let (by, _, own) = here().find(|(_, sizes, _)| sizes.is_empty())?;
    Some(format!("{by} started this process as one of an unknown number ({own} is set)"))
}

/// Refuses to do `what` in each of many processes that a launcher has started.
///
/// # Errors
/// [`Error::Config`] that names the launcher.
pub fn alone(variable: impl Fn(&str) -> Option<String>, what: &str) -> Result<()> {
    let ranks = || variable(RANK).map(|_| format!("{RANK} is set"));
    match one_of_many(&variable).or_else(ranks) {
        None => Ok(()),
        Some(many) => Err(Error::Config(format!(
            "{many}, and {what} is for one; start it without a launcher"
        ))),
    }
}

/// How ranks come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Threads of this process.
    Threads(usize),
    /// This process is rank 0, and starts the others.
    Processes(usize),
    /// This process was started as one of them.
    Member(Member),
    /// `mpirun` started this process as one of so many.
    #[cfg(feature = "mpi")]
    Mpi(Rank, usize),
}

impl Launcher {
    /// The way that the environment and the options name; none for one device. `variable` reads the environment.
    ///
    /// # Errors
    /// [`Error::Config`] that names the variable or the option.
    pub fn choose(
        variable: impl Fn(&str) -> Option<String>,
        replicas: Option<usize>,
        processes: bool,
    ) -> Result<Option<Self>> {
        let text = |name: &str| {
            variable(name).ok_or_else(|| {
                Error::Config(format!(
                    "{name} is missing; a rank that is started by hand needs {RANK}, {RANKS} and {HUB}, which is where \
                     rank 0 waits, such as 192.168.0.7:7000"
                ))
            })
        };
        let number = |name: &str| {
            let text = text(name)?;
            let none = |_| Error::Config(format!("{name} must be a whole number, not `{text}`"));
            text.parse::<usize>().map_err(none)
        };
        let agrees = |name: &str, size: usize| {
            if !processes && replicas.is_none_or(|replicas| replicas == size) {
                return Ok(());
            }
            Err(Error::Config(format!(
                "by {name} this process is one of {size} ranks; leave out --replicas and --processes"
            )))
        };
        if variable(RANK).is_some() {
            let (rank, size) = (number(RANK)?, not_too_many(number(RANKS)?, RANKS)?);
            if rank >= size {
                return Err(Error::Config(format!(
                    "{RANK} is {rank}, and {RANKS} is {size}: a rank goes from 0, and is less than their number"
                )));
            }
            let parent = variable(PARENT).and_then(|id| id.parse().ok());
            if parent.is_none() {
                agrees(RANKS, size)?; // one that another rank has started has that one's options
            }
            let member = Member { rank: Rank(rank), size, hub: text(HUB)?, parent };
            return Ok(Some(Self::Member(member)));
        }
        #[cfg(feature = "mpi")]
        if variable(MPI).is_some() {
            let (rank, size) = (Rank(number("OMPI_COMM_WORLD_RANK")?), number(MPI)?);
            agrees(MPI, size)?;
            return Ok(Some(Self::Mpi(rank, size)));
        }
        if let Some(many) = one_of_many(&variable) {
            return Err(Error::Config(format!(
                "{many}, and this build would train the same model in each; start one with --replicas N --processes, or all \
                 by Open MPI's mpirun in a build with --features mpi, or give each {RANK}, {RANKS} and {HUB}, which is \
                 where rank 0 waits, such as 192.168.0.7:7000"
            )));
        }
        let replicas = replicas.map(|size| not_too_many(size, "--replicas")).transpose()?;
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
            Self::Member(member) => member.rank,
            #[cfg(feature = "mpi")]
            Self::Mpi(rank, _) => *rank,
        }
    }

    /// The ranks in words: `4 threads`.
    pub fn in_words(&self) -> String {
        let processes = if self.size() == 1 { "process" } else { "processes" };
        match self {
            Self::Threads(size) => format!("{size} threads"),
            Self::Processes(size) | Self::Member(Member { size, .. }) => {
                format!("{size} {processes}")
            }
            #[cfg(feature = "mpi")]
            Self::Mpi(_, size) => format!("{size} {processes} of MPI"),
        }
    }

    /// How many of the ranks share this machine.
    pub fn here(&self) -> usize {
        match self {
            Self::Threads(size) | Self::Processes(size) => *size,
            Self::Member(member) => member.local(),
            #[cfg(feature = "mpi")]
            Self::Mpi(rank, _) => of_machine(*rank, lab::names::text_of)[0],
        }
    }

    /// Which of those this one is, from 0: the one that has the GPU of this number.
    pub fn local_rank(&self) -> usize {
        match self {
            Self::Threads(_) | Self::Processes(_) => 0,
            Self::Member(member) => member.rank.0 % member.local(),
            #[cfg(feature = "mpi")]
            Self::Mpi(rank, _) => of_machine(*rank, lab::names::text_of)[1],
        }
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        match self {
            Self::Threads(size) | Self::Processes(size) => *size,
            Self::Member(member) => member.size,
            #[cfg(feature = "mpi")]
            Self::Mpi(_, size) => *size,
        }
    }

    /// The threads of this process, if it has a part of the machine's cores; those of a rank that is a thread are its own.
    pub fn threads(&self) -> Option<usize> {
        let apart = !matches!(self, Self::Threads(_));
        apart.then(|| threads_each(self.here()))
    }
}
