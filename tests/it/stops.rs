//! Ctrl-C, SIGTERM and SIGHUP end every command soon, and the programs that it has started with it; a limit on threads or
//! memory is one sentence. Each is tried on real processes.

use crate::{book::Ended, command, root, said};
use lab::{
    data::drawn,
    testing::{put, put_set},
};
use language_model::{
    Config, Model, Tokenizer,
    generate::{Decoder, Sampling, Stop, generate},
};
use std::{
    fs,
    io::{self, Read as _},
    ops::ControlFlow,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, ExitStatus},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

/// The longest that anything here may take, on a machine with other work.
const PATIENCE: Duration = Duration::from_mins(1);

/// The longest from a signal to the end.
const SOON: Duration = Duration::from_secs(15);

/// A command that runs for hours, in a folder and a process group of its own.
struct Running {
    child: Child,
    /// What it prints on either stream, as it comes.
    printed: Receiver<Vec<u8>>,
    heard: String,
}

impl Running {
    fn start(words: &str, at: &Path, hup: libc::sighandler_t) -> Self {
        // What a command leaves behind becomes this process's own: not every process 1 waits for it.
        #[cfg(target_os = "linux")]
        // SAFETY: a system call that takes numbers.
        unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        }
        let (mut reader, writer) = io::pipe().unwrap();
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut command = command(&words, at);
        command
            .env("CARGO", at.join("cargo"))
            .env("MNIST_DIR", at.join("digits"))
            .stdout(writer.try_clone().unwrap())
            .stderr(writer)
            .process_group(0);
        // SAFETY: a system call, as a new process may make it. What started the tests may ignore a signal.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGHUP, hup);
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let (send, printed) = channel();
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut part) {
                let _ = send.send(part[..n].to_vec());
            }
        });
        Self { child, printed, heard: String::new() }
    }

    /// Until it prints this.
    fn hear(&mut self, mark: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.heard.contains(mark) {
            let more = self.printed.recv_timeout(until.saturating_duration_since(Instant::now()));
            let more = more.unwrap_or_else(|e| panic!("{e}, no `{mark}` in: {}", self.heard));
            self.heard += &String::from_utf8_lossy(&more);
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a system call that takes numbers.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// How it has ended, and what it said, once all that it started have ended, too.
    fn ended(&mut self) -> Option<(ExitStatus, String)> {
        let began = Instant::now();
        // SAFETY: as above. What it has left behind is this process's own, and counts until it is waited for; the signal only
        // asks whether there is a process of the group.
        let lives = |group: i32| unsafe {
            libc::waitpid(-group, std::ptr::null_mut(), libc::WNOHANG);
            libc::kill(-group, 0) == 0
        };
        while began.elapsed() < SOON {
            if let Some(status) = self.child.try_wait().unwrap()
                && !lives(self.child.id() as i32)
            {
                while let Ok(more) = self.printed.recv_timeout(Duration::from_millis(200)) {
                    self.heard += &String::from_utf8_lossy(&more);
                }
                return Some((status, std::mem::take(&mut self.heard)));
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: as above. The group is this test's own.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

/// A folder with digits, a language model, an exercise's `cargo` that never ends, and what `open` needs of a course.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    put(folder.path(), "book/book.toml", "");
    // Few, for each command reads them.
    let digits = drawn(600, 100, 0);
    put_set(&at("digits"), &digits.train, &digits.test);
    fs::create_dir(at("model")).unwrap();
    let tokenizer = Tokenizer::train(&[b"fn main() {}\n"], 257).unwrap();
    let vocabulary = tokenizer.vocabulary();
    let config = Config { vocabulary, context: 64, width: 64, heads: 2, layers: 2, hidden: 64 };
    // Not every model without training writes on and on.
    let endless = |model: &Model| {
        let decoder = Decoder::new(&model.config, &model.parameters).unwrap();
        let go_on = |_: &str| ControlFlow::Continue(());
        let text = generate(&decoder, &tokenizer, b"", 500, Sampling::greedy(), go_on).unwrap();
        text.stop != Some(Stop::End)
    };
    let mut models = (1..).map(|seed| Model::new(config, seed).unwrap());
    let mut model = models.find(endless).unwrap();
    model.tokenizer = tokenizer.digest();
    model.save(&at("model/model.safetensors")).unwrap();
    tokenizer.save(&at("model/tokenizer.json")).unwrap();
    for part in ["chapters", "Cargo.toml", "book/src"] {
        std::os::unix::fs::symlink(root().join(part), at(part)).unwrap();
    }
    folder
}

/// What `cargo` does where it is not one: nothing, or nothing without end.
fn cargo(at: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = at.join("cargo");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Commands that take hours, what they have printed before the signal comes, and their exit code after it; none if the signal
/// itself is the end.
const COMMANDS: [(&str, &str, Option<i32>); 14] = [
    ("train --run RUN --limit 500 --epochs 999999", "epoch ", Some(1)),
    ("train --run RUN --limit 500 --epochs 999999 --model cnn --engine dfdx", "epoch ", Some(1)),
    ("train --run RUN --limit 500 --epochs 999999 --replicas 2", "epoch ", Some(1)),
    ("train --run RUN --limit 500 --epochs 999999 --replicas 2 --processes", "epoch ", Some(1)),
    ("train --run RUN --model gpt GPT --minutes 900", "timing steps", Some(1)),
    ("train --run RUN --model gpt GPT --tokens 900000000", "million parameters", Some(1)),
    ("train --run RUN --model gpt GPT --tokens 900000000 --replicas 2", "million param", Some(1)),
    (
        "train --run RUN --model gpt GPT --tokens 900000000 --replicas 2 --processes",
        "million param",
        Some(1),
    ),
    ("generate --model model --tokens 100000000 --temperature 0", "", None),
    ("serve --model model --port 0", "http://", Some(0)),
    ("trace --model resnet --steps 1000 --device cpu", "", None),
    ("measure matmul.ladder --budget full --records RUN", "measuring", None),
    ("open --no-serve", "1/4", None),
    ("check lab/quartiles", "", None),
];

#[test]
fn a_signal_ends_every_command_and_what_it_has_started() {
    let folder = folder();
    for (number, (words, mark, code)) in COMMANDS.into_iter().enumerate() {
        let endless = words.starts_with("check");
        cargo(folder.path(), if endless { "echo building >&2; exec sleep 600" } else { "exit 1" });
        let mut runs = SIGNALS.map(|signal| {
            let run = format!("run-{number}-{signal}");
            let small = "--size 10k --context 32 --batch 4";
            let words = words.replace("RUN", &run).replace("GPT", small);
            (signal, Running::start(&words, folder.path(), libc::SIG_DFL))
        });
        for (_, run) in &mut runs {
            run.hear(mark);
        }
        thread::sleep(Duration::from_millis(300));
        for (signal, mut run) in runs {
            let over = run.child.try_wait().unwrap().is_some();
            assert!(!over, "{words} is over: {:?}", run.ended());
            run.signal(signal);
            let ended = run.ended();
            let (status, said) = ended.unwrap_or_else(|| panic!("{words}: goes on: {}", run.heard));
            assert!(!said.contains("panicked"), "{words}: {said}");
            assert_eq!(status.code(), code, "{words}, {signal}: {said}");
            assert_eq!(status.signal(), code.is_none().then_some(signal), "{words}: {said}");
            let stopped = said.contains("error: stopped");
            assert_eq!(stopped, code == Some(1), "{words}, {signal}: {said}");
        }
    }
}

#[test]
fn nohup_is_obeyed() {
    let folder = folder();
    cargo(folder.path(), "exit 1");
    let words = "train --run run --limit 500 --epochs 1000000";
    let mut run = Running::start(words, folder.path(), libc::SIG_IGN);
    run.hear("epoch ");
    run.signal(libc::SIGHUP);
    run.heard.clear();
    run.hear("epoch ");
    run.signal(libc::SIGTERM);
    let (status, said) = run.ended().unwrap();
    assert!(said.contains("error: stopped"), "{status}: {said}");
}

#[test]
fn a_model_writes_no_longer_than_somebody_reads() {
    let folder = folder();
    let (mut reader, writer) = io::pipe().unwrap();
    let words = ["generate", "--model", "model", "--tokens", "100000000", "--temperature", "0"];
    let mut child = Ended(command(&words, folder.path()).stdout(writer).spawn().unwrap());
    reader.read_exact(&mut [0; 20]).unwrap();
    drop(reader);
    let began = Instant::now();
    while child.0.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < SOON, "it goes on");
        thread::sleep(Duration::from_millis(10));
    }
    assert!(child.0.wait().unwrap().success());
}

/// Whatever unit multiplies, and with variables that are empty, which is to be not set.
#[test]
fn a_training_has_the_same_bits_twice() {
    let folder = folder();
    let trained = |run: &str| {
        let words = "train --limit 300 --epochs 1 --model cnn --precision bf16 --data digits --run";
        let words: Vec<&str> = words.split(' ').chain([run]).collect();
        let mut command = command(&words, folder.path());
        for variable in ["THROUGHPUT_DEVICE", "THROUGHPUT_RANK", "MNIST_DIR", "THROUGHPUT_SITE"] {
            command.env(variable, "");
        }
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", said(&out));
        fs::read(folder.path().join(run).join("model.safetensors")).unwrap()
    };
    assert!(trained("one") == trained("two"));
    let out = command(&["plan", "--model", "mlp"], folder.path()).env("MNIST_DIR", "").output();
    assert!(out.is_ok_and(|out| out.status.success()));
}

/// Commands that need threads, and do not last long where they get them.
#[cfg(target_os = "linux")]
const THREADED: [&str; 9] = [
    "train --run RUN --limit 300 --epochs 1",
    "train --run RUN --limit 300 --epochs 1 --engine dfdx --model cnn",
    "train --run RUN --limit 300 --epochs 1 --replicas 4",
    "train --run RUN --limit 300 --epochs 1 --replicas 2 --processes",
    "train --run RUN --model gpt --size 10k --context 32 --batch 4 --tokens 300",
    "train --run RUN --model gpt --size 10k --context 32 --batch 4 --tokens 300 --replicas 3",
    "trace --model cnn --steps 2 --device cpu",
    "measure hardware.table mixed_precision.formats --records RUN",
    "generate --model model --tokens 5",
];

/// A command within a limit, as one who has no right to exceed it.
#[cfg(target_os = "linux")]
fn limited(
    (limit, most): (libc::__rlimit_resource_t, u64),
    words: &str,
    at: &Path,
) -> std::process::Output {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut command = command(&words, at);
    command.env("CARGO", "false").env("MNIST_DIR", at.join("digits"));
    // SAFETY: a system call without arguments.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let most = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: a system call, as a new process may make it.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(limit, &raw const most) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.output().unwrap()
}

/// A user without rights. Nothing else here runs as this one, or the limits would hold for both.
#[cfg(target_os = "linux")]
const NOBODY: u32 = 61_234;

#[cfg(target_os = "linux")]
#[test]
fn too_few_threads_or_addresses_are_a_sentence() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut refused = 0;
    for (number, words) in THREADED.into_iter().enumerate() {
        let threads = [2, 3, 5].map(|most| (libc::RLIMIT_NPROC, most));
        let addresses = [60, 250].map(|most| (libc::RLIMIT_AS, most << 20));
        for limit in [&threads[..], &addresses].concat() {
            let run = format!("run-{number}-{}", limit.1);
            let out = limited(limit, &words.replace("RUN", &run), folder.path());
            if !out.status.success() {
                // Each process of a crew has a sentence of its own.
                let said = String::from_utf8_lossy(&out.stderr);
                assert_eq!(out.status.code(), Some(1), "{limit:?}, {words}: {said}");
                assert!(said.contains("error: ") && !said.contains("panicked"), "{words}: {said}");
                refused += usize::from(said.contains("starts no more threads"));
            }
        }
    }
    assert!(refused > THREADED.len(), "the limits are not felt: {refused}");
}
