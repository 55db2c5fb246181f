//! What happens to a run when one of its processes is killed, stopped, slowed down or started wrongly: real processes, real
//! signals. Each process is this test program again, started as a rank by its environment.

use lab::{data, testing::soon};
use mixed_precision::amp::makers;
use multi_gpu::{
    measured::experiments::replicas::dice,
    replicas::{
        children::{Children, Started},
        launch,
        member::{HUB, Launcher, RANK, RANKS},
    },
    split::equality::largest,
};
use std::{
    fs,
    io::{Read, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};
use training::{
    Config, EngineKind, Model, Settings, Silent, Start, Watcher, checkpoint::Checkpoint,
    optimizer::Rule, train_on,
};

/// The most that may pass until the others have ended.
const LIMIT: Duration = Duration::from_secs(10);

fn settings(epochs: usize) -> Settings {
    let base =
        Settings { model: Model::Linear, epochs, batch: 32, lr: 0.05, ..Settings::default() };
    Settings { optimizer: Rule::Sgd, engine: EngineKind::Fast, ..base }
}

/// The name of what a rank does.
const RANK_TEST: &str = "failures::a_rank_of_these_tests";

/// Says on stdout what it is warned of.
struct Aloud;

impl Watcher for Aloud {
    fn warn(&mut self, words: &str) {
        println!("warning: {words}");
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test: what a rank does.
#[test]
fn a_rank_of_these_tests() {
    let Some(run) = variable("FAILURES_RUN") else { return };
    let number = |name: &str| variable(name).map(|text| text.parse::<f64>().unwrap());
    let epochs = number("FAILURES_EPOCHS").unwrap() as usize;
    let mut settings = settings(epochs);
    settings.lr = number("FAILURES_LR").unwrap_or(settings.lr);
    settings.model =
        variable("FAILURES_MODEL").map_or(settings.model, |name| name.parse().unwrap());
    let data = data::drawn(200, 50, number("FAILURES_DATA").unwrap_or(1.0) as u64);
    let start = if variable("FAILURES_RESUME").is_some() { Start::Resume } else { Start::New };
    let checkpoint_every = Duration::from_millis(200);
    let base = Config { settings, start, checkpoint_every, ..Config::default() };
    let config = Config { run: Some(run.clone().into()), ..base };
    let processes = number("FAILURES_PROCESSES").map(|size| size as usize);
    let launcher = Launcher::choose(variable, processes, processes.is_some()).unwrap().unwrap();
    meets_its_fate(launcher.rank().0, &run);
    match launch::train(&launcher, &config, &data, &mut Aloud) {
        Ok(_) => std::process::exit(0),
        Err(error) => {
            // In one piece: all ranks write to one pipe.
            let line = format!("error: {error}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            std::process::exit(1);
        }
    }
}

/// What a rank suffers before it goes to the others: `2 KILL`, or `1 LATE`, which is two seconds, and reports it in a
/// file.
fn meets_its_fate(rank: usize, run: &str) {
    let Some(fate) = variable("FAILURES_FATE") else { return };
    match fate.split_once(' ').unwrap() {
        (whose, _) if whose != rank.to_string() => {}
        (_, "LATE") => {
            fs::write(format!("{run}.late"), "").unwrap();
            thread::sleep(Duration::from_secs(2));
        }
        (_, name) => {
            let command = format!("kill -{name} {}", std::process::id());
            Command::new("sh").args(["-c", &command]).status().unwrap();
            thread::sleep(Duration::from_millis(100)); // until it has arrived
        }
    }
}

/// The variables of one rank in addition to the others': (rank, name, value).
type Odd<'a> = &'a [(usize, &'a str, &'a str)];

/// The program of a rank, as it is started here.
fn rank_program(run: &Path, epochs: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([RANK_TEST, "--exact", "--nocapture"]);
    command.env("FAILURES_RUN", run).env("FAILURES_EPOCHS", epochs.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(size: usize, run: &Path, epochs: usize, resume: bool, odd: Odd) -> Children {
    let hub = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let rank = |rank: usize| {
        let mut command = rank_program(run, epochs);
        command.env(RANK, rank.to_string()).env(RANKS, size.to_string()).env(HUB, &hub);
        command.envs(resume.then_some(("FAILURES_RESUME", "1")));
        let own = odd.iter().filter(|(whose, ..)| *whose == rank);
        command.envs(own.map(|(_, name, value)| (name, value)));
        command
    };
    Children::start(0..size, rank).unwrap()
}

fn ended(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if Instant::now() > until {
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// What all ranks but one report when they end, within the limit.
fn last_words(limit: Duration, ranks: &mut Children, but: Option<usize>) -> Vec<String> {
    let others = ranks.0.iter_mut().enumerate().filter(|(rank, _)| Some(*rank) != but);
    let words = others.map(|(rank, Started { process: child, .. })| {
        let status = ended(child, limit).unwrap_or_else(|| panic!("rank {rank} hangs"));
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(!status.success(), "rank {rank} is content: {said}");
        said
    });
    words.collect()
}

fn signal(child: &Child, name: &str) {
    let command = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
}

/// Waits until the run has got somewhere.
fn under_way(run: &Path) {
    soon("the run gets going", || {
        Checkpoint::load(run).is_ok_and(|saved| saved.header.steps >= 20)
    });
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    (folder, run)
}

/// Goes on with `size` ranks, and comes where one device comes.
fn goes_on_with(size: usize, run: &Path) {
    let saved = Checkpoint::load(run).expect("the checkpoint is whole");
    let epochs = saved.header.epoch + 3;
    let mut ranks = start(size, run, epochs, true, &[]);
    for (rank, child) in ranks.0.iter_mut().enumerate() {
        let status = ended(&mut child.process, Duration::from_secs(30)).expect("resumed ranks end");
        assert!(status.success(), "rank {rank} after resume");
    }
    let config = Config { settings: settings(epochs), makers: makers(), ..Config::default() };
    let one = train_on(&config, &data::drawn(200, 50, 1), &mut Silent).unwrap();
    let many = Checkpoint::load(run).unwrap();
    assert_eq!(many.header.epoch, epochs);
    let far = largest(&many.weights, &one.weights);
    assert!(far < 1e-4, "{far} from one device after {epochs} epochs");
}

#[test]
fn a_killed_rank_is_named_and_the_run_goes_on_with_fewer() {
    for victim in [2, 0] {
        let (_folder, run) = folder();
        let mut ranks = start(3, &run, 1_000_000, false, &[]);
        under_way(&run);
        thread::sleep(Duration::from_millis(dice(500)));
        ranks.0[victim].process.kill().unwrap();
        for said in last_words(LIMIT, &mut ranks, Some(victim)) {
            let named = format!("error: rank {victim} is gone: ");
            assert!(said.contains(&named), "rank {victim} was killed, and a rank says: {said}");
        }
        goes_on_with(if victim == 0 { 1 } else { 2 }, &run);
    }
}

#[test]
fn a_rank_killed_before_the_first_step_is_also_named() {
    let (_folder, run) = folder();
    let mut ranks = start(3, &run, 1_000_000, false, &[]);
    thread::sleep(Duration::from_millis(200 + dice(300)));
    ranks.0[1].process.kill().unwrap();
    // Rank 0 may still wait for all to come: then it is the one that reports that rank 1 did not.
    let until = Instant::now() + Duration::from_secs(40);
    for rank in [0, 2] {
        let left = until.saturating_duration_since(Instant::now());
        let status =
            ended(&mut ranks.0[rank].process, left).unwrap_or_else(|| panic!("rank {rank} hangs"));
        assert!(!status.success());
    }
}

/// Rank 0 of four processes, the others its children, one of whom has a fate.
fn parent(run: &Path, fate: &str) -> Children {
    let start = |_| {
        let mut command = rank_program(run, 1_000_000);
        command.env("FAILURES_PROCESSES", "4").env("FAILURES_FATE", fate).stdout(Stdio::null());
        command
    };
    Children::start(0..1, start).unwrap()
}

#[test]
fn a_child_that_is_lost_before_all_have_come_is_named() {
    for (fate, named) in [
        ("2 KILL", "error: rank 2 is gone: its process has ended"),
        ("2 STOP", "error: rank 2 has not answered for 6 s"),
    ] {
        let (_folder, run) = folder();
        let mut ranks = parent(&run, fate);
        // Six seconds of silence, and what a busy machine takes to start them; it was more than 30 s once.
        let said = last_words(2 * LIMIT, &mut ranks, None).remove(0);
        let errors = said.lines().filter(|line| line.starts_with("error: "));
        assert!(errors.clone().any(|line| line.contains(named)), "{fate}: {said}");
        // Who comes when rank 0 has already ended can't know more than that.
        let late = "error: rank 0 is gone: its process has ended";
        let known = |line: &str| line.contains(named) || line.starts_with(late);
        assert!(errors.clone().all(known), "{fate}: {said}");
    }
}

#[test]
fn children_whose_parent_is_killed_before_they_come_end_at_once() {
    let (_folder, run) = folder();
    let mut ranks = parent(&run, "3 LATE"); // the last that is started
    soon("the children start", || run.with_extension("late").exists());
    ranks.0[0].process.kill().unwrap();
    // What they write to ends when the last of them does.
    let begun = Instant::now();
    let mut said = String::new();
    ranks.0[0].process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    assert_eq!(said.matches("error: rank 0 is gone: ").count(), 3, "{said}");
}

#[test]
fn a_stopped_rank_is_silent_not_gone() {
    let (_folder, run) = folder();
    let mut ranks = start(3, &run, 1_000_000, false, &[]);
    under_way(&run);
    signal(&ranks.0[1].process, "STOP");
    for said in last_words(LIMIT, &mut ranks, Some(1)) {
        assert!(said.contains("error: rank 1 has not answered for 6 s"), "{said}");
    }
    ranks.0[1].process.kill().unwrap();
    goes_on_with(2, &run);
}

#[test]
fn a_slow_rank_is_named_and_the_run_goes_on() {
    let (_folder, run) = folder();
    // A model whose steps are long: what slows a rank down must hit its work, not its waiting.
    let cnn = [0, 1, 2].map(|rank| (rank, "FAILURES_MODEL", "cnn"));
    let mut ranks = start(3, &run, 1_000_000, false, &cnn);
    under_way(&run);
    let mut said = ranks.0[0].process.stdout.take().unwrap();
    let (send, lines) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut text = [0; 4096];
        while let Ok(bytes @ 1..) = said.read(&mut text) {
            let _ = send.send(String::from_utf8_lossy(&text[..bytes]).into_owned());
        }
    });
    // Five sixths of the time it is stopped.
    let until = Instant::now() + Duration::from_secs(40);
    let mut heard = String::new();
    while !heard.contains("warning: rank 2 takes ") {
        assert!(Instant::now() < until, "no rank reports that rank 2 is slow: {heard}");
        signal(&ranks.0[2].process, "STOP");
        thread::sleep(Duration::from_millis(150));
        signal(&ranks.0[2].process, "CONT");
        thread::sleep(Duration::from_millis(30));
        heard.extend(lines.try_iter());
    }
    assert!(heard.contains("times the median of the others"), "{heard}");
    for child in &mut ranks.0 {
        assert!(child.process.try_wait().unwrap().is_none(), "slow is not gone: all go on");
    }
}

#[test]
fn a_rank_with_other_settings_or_data_is_refused() {
    for (name, value, why) in [
        ("FAILURES_LR", "0.5", "rank 2 has --lr 0.5, and rank 0 has 0.05"),
        ("FAILURES_DATA", "7", "rank 2 has another training data"),
    ] {
        let (_folder, run) = folder();
        let mut ranks = start(3, &run, 3, false, &[(2, name, value)]);
        for said in last_words(LIMIT, &mut ranks, None) {
            assert!(said.contains(why), "{said}");
        }
        assert!(fs::read_dir(&run).is_err(), "a refused run leaves nothing");
    }
}

#[test]
fn a_rank_that_fails_tells_its_reason() {
    // Rank 0 can't write where it is told to; the others could not know.
    let (_folder, run) = folder();
    fs::write(&run, b"a file where the folder should be").unwrap();
    let mut ranks = start(3, &run, 3, false, &[]);
    for said in last_words(LIMIT, &mut ranks, None) {
        assert!(said.contains(run.to_str().unwrap()), "{said}");
    }
}
