use multi_gpu::Rank;
use multi_gpu::replicas::member::{
    HUB, LAUNCHERS, Launcher, MOST_RANKS, MPI, Member, RANK, RANKS, alone, of_machine,
};

/// Reads these variables.
fn of(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    move |name| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
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
    assert!(choose(&[(RANK, "3"), (RANKS, "3")], None, false).contains("from 0"));
    assert!(choose(&[(RANK, "x"), (RANKS, "3")], None, false).contains("`x`"));
    let alone = [(RANK, "0"), (RANKS, "1"), (HUB, "127.0.0.1:7000")];
    for (replicas, processes) in [(Some(5), false), (None, true)] {
        assert!(choose(&alone, replicas, processes).contains("leave out --replicas"));
    }
    let one = Launcher::choose(of(&alone), Some(1), false).unwrap().unwrap();
    assert_eq!((one.in_words().as_str(), one.local_rank()), ("1 process", 0));
    // Four on two machines, dealt out in turn: 0 and 2 here.
    let [size, rank] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"];
    assert_eq!(of_machine(Rank(2), of(&[(size, "2"), (rank, "1")])), [2, 1]);
    assert_eq!(of_machine(Rank(3), of(&[(size, "2")])), [2, 1]);
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
            for alone in [vec![(own, "0"), (size, "1"), ("PMIX_RANK", "0")], vec![(size, "2")]] {
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
