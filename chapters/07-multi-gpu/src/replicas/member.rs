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

/// How many processes of MPI share this machine.
#[cfg(feature = "mpi")]
pub(crate) fn local_mpi() -> usize {
    let local = std::env::var("OMPI_COMM_WORLD_LOCAL_SIZE");
    local.ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Launchers: each with the variables that tell how many processes it has started, the first of them that is there, and
/// one that it sets in these alone, as a number. Some tell no size.
const LAUNCHERS: [(&str, &str, &str); 14] = [
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
        if variable(RANK).is_some() {
            let (rank, size) = (number(RANK)?, not_too_many(number(RANKS)?, RANKS)?);
            if rank >= size {
                return Err(Error::Config(format!(
                    "{RANK} is {rank}, and with {RANKS} {size} ranks go from 0 to {}",
                    size.saturating_sub(1)
                )));
            }
            let parent = variable(PARENT).and_then(|id| id.parse().ok());
            let member = Member { rank: Rank(rank), size, hub: text(HUB)?, parent };
            return Ok(Some(Self::Member(member)));
        }
        #[cfg(feature = "mpi")]
        if variable(MPI).is_some() {
            let rank = Rank(number("OMPI_COMM_WORLD_RANK")?);
            return Ok(Some(Self::Mpi(rank, number(MPI)?)));
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
        match self {
            Self::Threads(size) => format!("{size} threads"),
            Self::Processes(size) | Self::Member(Member { size, .. }) => {
                format!("{size} processes")
            }
            #[cfg(feature = "mpi")]
            Self::Mpi(_, size) => format!("{size} processes of MPI"),
        }
    }

    /// The threads of this process, if it has a part of the machine's cores; those of a rank that is a thread are its own.
    pub fn threads(&self) -> Option<usize> {
        let here = match self {
            Self::Threads(_) => return None,
            Self::Processes(size) => *size,
            Self::Member(member) => member.local(),
            #[cfg(feature = "mpi")]
            Self::Mpi(..) => local_mpi(),
        };
        Some(threads_each(here))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads these variables.
    fn of(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        }
    }

    fn choose(variables: &[(&str, &str)], replicas: Option<usize>, processes: bool) -> String {
        match Launcher::choose(of(variables), replicas, processes) {
            Ok(launcher) => format!("{launcher:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_way_follows_from_environment_and_options() {
        for (replicas, processes, wanted) in [
            (None, false, "None"),
            (Some(1), false, "None"),
            (Some(4), false, "Some(Threads(4))"),
            (Some(4), true, "Some(Processes(4))"),
            (Some(0), false, "--replicas must be at least 1"),
            (None, true, "--processes needs --replicas with a number from 2"),
        ] {
            assert_eq!(choose(&[], replicas, processes), wanted);
        }
        // A process that was started as a rank is that rank, whatever the options.
        let own = Member::here(2, 3, "10.0.0.1:7000");
        let told = own.variables();
        let member: Vec<_> = told.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let wanted = Launcher::Member(own);
        assert_eq!(choose(&member, Some(3), true), format!("{:?}", Some(wanted)));
        assert!(choose(&member[..1], None, false).contains(RANKS));
        assert!(choose(&member[..2], None, false).contains(HUB));
        assert!(choose(&[(RANK, "3"), (RANKS, "3")], None, false).contains("from 0 to 2"));
        assert!(choose(&[(RANK, "x"), (RANKS, "3")], None, false).contains("`x`"));
        let mpi = choose(&[(MPI, "4"), ("OMPI_COMM_WORLD_RANK", "1")], None, false);
        assert!(!cfg!(feature = "mpi") || mpi == "Some(Mpi(Rank(1), 4))", "{mpi}");
    }

    /// Whether these variables are those of one process, or who is said to have started more.
    fn refused(variables: &[(&str, &str)]) -> Option<String> {
        let said = alone(of(variables), "a language model").err()?.to_string();
        assert!(said.contains("a language model"), "{said}");
        if !(cfg!(feature = "mpi") && of(variables)(MPI).is_some()) {
            let trained = choose(variables, Some(2), true);
            for way in ["--processes", "--features mpi", HUB, said.split(", and").next()?] {
                assert!(trained.contains(way), "{way}: {trained}");
            }
        }
        // Told its rank, it is one of a crew.
        let told = [(RANK, "0"), (RANKS, "2"), (HUB, "127.0.0.1:7000")];
        assert!(choose(&[variables, &told].concat(), None, false).contains("Member"));
        Some(said)
    }

    #[test]
    fn one_of_many_equal_processes_is_refused_and_one_alone_is_not() {
        let one = [("PMI_SIZE", "1"), ("PMI_RANK", "0")];
        for (by, sizes, own) in LAUNCHERS {
            for size in sizes.split(' ').filter(|size| !size.is_empty()) {
                let said = refused(&[(own, "0"), (size, "2")]).unwrap();
                assert!(said.contains(&format!("{by} started 2 processes")), "{said}");
                assert!(refused(&[(own, "1"), (size, "8"), one[0], one[1]]).is_some(), "{size}");
                for alone in [vec![(own, "0"), (size, "1"), ("PMIX_RANK", "0")], vec![(size, "2")]]
                {
                    assert_eq!(refused(&alone), None, "{alone:?}");
                }
            }
            let unknown = refused(&[(own, "3")]);
            assert_eq!(unknown.is_some_and(|said| said.contains(own)), sizes.is_empty(), "{own}");
            assert_eq!(refused(&[(own, "3"), one[0], one[1]]), None, "{own}");
        }
        let told = alone(|name| (name == RANK).then(|| "1".to_owned()), "a language model");
        assert!(told.unwrap_err().to_string().contains(RANK));
        let slurm = [("SLURM_NTASKS", "2"), ("SLURM_PROCID", "0"), ("SLURM_STEP_ID", "4294967290")];
        assert_eq!(refused(&slurm), None, "the shell of salloc");
        assert_eq!(refused(&slurm[..2]), None, "the shell of sbatch");
        let step = [slurm[0], ("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "1")];
        assert_eq!(refused(&step), None, "a step of one task");
    }

    #[test]
    fn more_ranks_than_can_be_are_refused_with_the_limit() {
        let all = usize::MAX.to_string();
        for said in [
            choose(&[], Some(usize::MAX), false),
            choose(&[], Some(MOST_RANKS + 1), true),
            choose(&[(RANK, "0"), (RANKS, &all), (HUB, "127.0.0.1:7000")], None, false),
        ] {
            assert!(said.contains("at most 256 train together"), "{said}");
        }
        assert_eq!(choose(&[], Some(MOST_RANKS), false), "Some(Threads(256))");
    }

    #[test]
    #[cfg(unix)]
    fn a_child_knows_whether_its_parent_lives() {
        let of = |parent| Member { parent, ..Member::here(1, 2, "127.0.0.1:7000") };
        assert!(of(None).has_parent().is_ok());
        assert!(of(Some(std::os::unix::process::parent_id())).has_parent().is_ok());
        let words = of(Some(0)).has_parent().unwrap_err().to_string();
        assert!(words.starts_with("rank 0 is gone: the process that started"), "{words}");
    }
}
