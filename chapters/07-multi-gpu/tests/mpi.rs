//! The engine MPI between real processes. Each test starts an ignored one of this file under `mpirun`; where there is
//! no Open MPI, it is skipped.

use lab::testing::{Tool, need};
use multi_gpu::{
    Communicator, Error, PointToPoint, Rank,
    comm::mpi::Mpi,
    point_to_point::PATIENCE,
    replicas::{
        launch::{self, Together},
        member::Launcher,
    },
};
use std::{
    process::{Command, Output},
    time::{Duration, Instant},
};

#[allow(dead_code, reason = "it has no device")]
mod laws;

/// `mpirun` with what tests need: root's leave, more processes than cores, an end after a minute.
fn mpirun(processes: usize) -> Option<Command> {
    let said = lab::probe::ask_within(Duration::from_secs(30), "mpirun", &["--version"]);
    let open = said.filter(|said| said.contains("Open MPI")).ok_or("install openmpi-bin");
    need(Tool::Mpi, open)?;
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--timeout", "60", "-n"]);
    command.arg(processes.to_string());
    Some(command)
}

/// Runs the ignored test `name` on so many processes.
fn run(name: &str, processes: usize) -> Option<Output> {
    let mut command = mpirun(processes)?;
    command.arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "--test-threads=1", name]);
    Some(command.env("MPI_TEST", "1").output().unwrap())
}

fn words(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Whether this is such a process.
fn inside() -> bool {
    std::env::var_os("MPI_TEST").is_some()
}

#[test]
fn mpis_collectives_and_ours_agree_between_2_and_4_processes() {
    all_pass("inner_collectives", &[1, 2, 4]);
}

#[test]
fn trainings_that_are_split_over_processes_are_one_devices() {
    all_pass("inner_split", &[2, 4, 8]);
}

#[track_caller]
fn all_pass(name: &str, sizes: &[usize]) {
    for processes in sizes {
        let Some(output) = run(name, *processes) else { return };
        let words = words(&output);
        assert!(output.status.success(), "{words}");
        assert_eq!(words.matches("1 passed").count(), *processes, "{words}");
    }
}

/// Two hosts on one machine: network namespaces with addresses of their own, 10.77.0.1 and 10.77.0.2, and a cable
/// between. They are gone when this is dropped.
struct Hosts;

impl Hosts {
    const ALL: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

    fn namespace(host: &str) -> String {
        format!("throughput-{host}")
    }

    /// `None` where there is no leave to make them.
    fn make() -> Option<Self> {
        let ip = |words: &str| {
            let done = Command::new("ip").args(words.split(' ')).output();
            done.is_ok_and(|output| output.status.success())
        };
        let [first, second] = Self::ALL.map(Self::namespace);
        let hosts = Self; // what was made is gone at the end, come what may
        let made = ip(&format!("netns add {first}"))
            && ip(&format!("netns add {second}"))
            && ip(&format!(
                "link add cable1 netns {first} type veth peer name cable2 netns {second}"
            ))
            && [(first, "cable1", Self::ALL[0]), (second, "cable2", Self::ALL[1])].iter().all(
                |(namespace, cable, address)| {
                    ip(&format!("-n {namespace} addr add {address}/24 dev {cable}"))
                        && ip(&format!("-n {namespace} link set {cable} up"))
                        && ip(&format!("-n {namespace} link set lo up"))
                },
            );
        made.then_some(hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for namespace in Self::ALL.map(Self::namespace) {
            let _ = Command::new("ip").args(["netns", "del", &namespace]).output();
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn two_hosts_with_addresses_of_their_own_agree() {
    use std::os::unix::fs::PermissionsExt;
    if mpirun(1).is_none() {
        return;
    }
    let hosts = Hosts::make().ok_or("network namespaces need root, and the command ip");
    let Some(_hosts) = need(Tool::System, hosts) else { return };
    // In place of ssh: the first word is the host, the others are what to run there.
    let folder = tempfile::tempdir().unwrap();
    let launcher = folder.path().join("launcher");
    let script = "#!/bin/sh\nhost=$1; shift\n\
        exec ip netns exec throughput-$host unshare --uts sh -c \"hostname $host && $*\"\n";
    std::fs::write(&launcher, script).unwrap();
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
    let [first, second] = Hosts::ALL;
    let start = format!(
        "mpirun --allow-run-as-root --timeout 60 --mca plm_rsh_agent {} --mca btl tcp,self \
         --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
         --host {first}:2,{second}:2 -n 4 -x MPI_TEST=1 sh -c 'hostname && exec {} --ignored --exact --nocapture \
         --test-threads=1 inner_collectives'",
        launcher.display(),
        std::env::current_exe().unwrap().display()
    );
    let output = Command::new(&launcher).arg(first).arg(start).output().unwrap();
    let words = words(&output);
    assert!(output.status.success(), "{words}");
    assert_eq!(words.matches("1 passed").count(), 4, "{words}");
    assert!(Hosts::ALL.iter().all(|host| words.contains(host)), "{words}");
}

#[test]
#[ignore = "runs under mpirun"]
fn inner_collectives() {
    if !inside() {
        return;
    }
    let mut comm = Mpi::start().unwrap();
    assert!(matches!(Mpi::start(), Err(Error::Config(_))), "it starts twice");
    laws::hold(&mut comm, 300_000).unwrap();
}

#[test]
#[ignore = "runs under mpirun"]
fn inner_split() {
    if inside() {
        laws::split(Mpi::start().unwrap()).unwrap();
    }
}

#[test]
fn messages_of_another_length_are_refused_by_name() {
    let Some(output) = run("inner_lengths", 2) else { return };
    let words = words(&output);
    assert!(words.contains("rank 0 sent 2 numbers where rank 1 waits for 3"), "{words}");
    assert!(words.contains("MPI refuses: MPI_ERR_TRUNCATE"), "{words}");
}

#[test]
#[ignore = "runs under mpirun"]
fn inner_lengths() {
    if !inside() {
        return;
    }
    let mut comm = Mpi::start().unwrap();
    if comm.rank() == Rank(0) {
        comm.send(Rank(1), &[1.0; 2]).unwrap();
        comm.send(Rank(1), &[1.0; 2]).unwrap();
    } else {
        println!("{}", comm.receive(Rank(0), &mut [0.0; 3]).unwrap_err());
        println!("{}", comm.receive(Rank(0), &mut [0.0; 1]).unwrap_err());
    }
}

#[test]
fn a_rank_that_is_stopped_is_named_and_no_rank_hangs() {
    let start = Instant::now();
    for (name, wanted) in [
        ("inner_stopped", "rank 1 has not answered for 1 s"),
        ("inner_stuck", "an operation of all ranks has not ended after 1 s"),
    ] {
        let Some(output) = run(name, 3) else { return };
        let words = words(&output);
        assert!(words.contains(wanted), "{words}");
        assert!(words.contains("so no other can begin"), "{words}");
    }
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

/// Rank 1 stops; rank 0 waits a second in `operation`.
fn stop(operation: fn(&mut Mpi) -> multi_gpu::Result<()>) {
    let mut comm = Mpi::start().unwrap();
    comm.barrier().unwrap();
    if comm.rank() == Rank(1) {
        let me = std::process::id().to_string();
        Command::new("kill").args(["-STOP", &me]).status().unwrap();
    }
    if comm.rank() == Rank(2) {
        std::thread::sleep(Duration::from_secs(4));
    }
    comm.patience = Duration::from_secs(1);
    println!("{}", operation(&mut comm).unwrap_err());
    println!("{}", comm.barrier().unwrap_err());
}

#[test]
#[ignore = "runs under mpirun"]
fn inner_stopped() {
    if inside() {
        stop(|comm| comm.receive(Rank(1), &mut [0.0; 8]));
    }
}

#[test]
#[ignore = "runs under mpirun"]
fn inner_stuck() {
    if inside() {
        stop(|comm| comm.all_reduce(&mut [0.0; 8]));
    }
}

/// Rank 0 works alone for longer than ranks usually wait.
struct Alone;

impl Together for Alone {
    type Reached = ();

    const PATIENCE: Duration = Duration::MAX;

    fn threads(&mut self, _: usize) -> multi_gpu::Result<()> {
        Ok(())
    }

    fn rank(&mut self, mut comm: impl Communicator + 'static, _: usize) -> multi_gpu::Result<()> {
        if comm.rank() == Rank(0) {
            std::thread::sleep(PATIENCE + Duration::from_secs(1));
        }
        comm.barrier()
    }

    fn stops(&mut self) -> bool {
        false
    }
}

#[test]
fn ranks_wait_for_as_long_as_their_work_says() {
    all_pass("inner_alone", &[2]);
}

#[test]
#[ignore = "runs under mpirun"]
fn inner_alone() {
    if inside() {
        launch::start(&Launcher::Mpi(Rank(0), 2), &mut Alone).unwrap();
    }
}

#[test]
fn the_experiments_program_times_every_way() {
    let Some(mut command) = mpirun(2) else { return };
    let output =
        command.arg(env!("CARGO_BIN_EXE_mpi_bench")).args(["64", "1", "3"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let timings: Vec<multi_gpu::comm::bench::Timing> =
        serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(timings.len(), 3 * 6, "{timings:?}");
}
