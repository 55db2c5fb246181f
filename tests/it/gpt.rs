//! A language model as its user has it: trained, killed, gone on with, prompted, served.

use crate::{
    book::{Ended, serving},
    command, done, root, said, throughput,
};
use lab::testing::{ask, rest, soon};
use multi_gpu::replicas::member::{HUB, RANK, RANKS};
use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Stdio},
};

/// A run of 600 steps of a model of some 60,000 parameters on the crates' sources.
const RUN: [&str; 14] = [
    "train",
    "--model",
    "gpt",
    "--size",
    "60k",
    "--context",
    "32",
    "--batch",
    "4",
    "--tokens",
    "76800",
    "--seed",
    "3",
    "--run",
];

fn train(run: &Path, words: &[&str]) -> String {
    done(&[words, &[run.to_str().unwrap()]].concat(), root())
}

#[test]
fn a_model_is_trained_killed_gone_on_with_prompted_and_served() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let trained = train(&whole, &RUN);
    assert!(trained.contains("bits for each byte"), "{trained}");
    // A young model's samples are any bytes.
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(trained.contains('\u{fffd}') && !trained.contains(obeyed));

    // Killed after its first checkpoint, and gone on with.
    let mut training = command(&RUN, root());
    training.arg(&killed).stdout(Stdio::null()).stderr(Stdio::null());
    let training = Ended(training.spawn().unwrap());
    soon("there is a checkpoint", || killed.join("checkpoint").exists());
    drop(training);
    train(&killed, &["train", "--resume", "--recompute", "2", "--run"]); // which changes no bit
    let model = |run: &Path| fs::read(run.join("model.safetensors")).unwrap();
    assert!(model(&whole) == model(&killed), "the bytes differ");

    // Prompted: the same seed, the same text.
    let text = |model: &Path| {
        let words = ["generate", "--prompt", "fn main() {", "--tokens", "30", "--model"];
        let output = throughput(&[&words[..], &[model.to_str().unwrap()]].concat(), root());
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let answer = text(&whole);
    assert!(answer.starts_with("fn main() {") && answer == text(&killed), "{answer}");
    served(&whole);

    // What belongs to digits is refused, and so is a run of digits.
    let refused = |words: &[&str]| {
        let output = throughput(words, root());
        assert!(!output.status.success());
        said(&output)
    };
    let other = refused(&["train", "--model", "gpt", "--epochs", "3"]);
    assert!(other.contains("--minutes"), "{other}");
    assert!(refused(&["train", "--tokens", "5"]).contains("--model gpt"));
    let size = refused(&["train", "--model", "gpt", "--size", "huge"]);
    assert!(size.contains("such as 3M"), "{size}");
    let resumed = ["train", "--resume", "--lr", "1", "--run", whole.to_str().unwrap()];
    assert!(refused(&resumed).contains("as it began"));
}

/// Two ranks that are started by hand, each with a learning rate, in a run without an end.
fn ranks(run: &Path, rates: [&str; 2]) -> [Child; 2] {
    let hub = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let own = run.to_str().unwrap();
    let endless = RUN.map(|word| if word == "76800" { "900000000" } else { word });
    [0, 1].map(|rank| {
        let words = [&endless[..], &[own, "--lr", rates[rank]]].concat();
        let mut command = command(&words, root());
        command.env(RANK, rank.to_string()).env(RANKS, "2").env(HUB, &hub);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    })
}

/// What a rank says that does not come to its end.
fn last_words(rank: Child) -> String {
    let output = rank.wait_with_output().unwrap();
    assert!(!output.status.success());
    said(&output)
}

#[test]
fn processes_train_as_threads_do_and_one_that_dies_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str| folder.path().join(name);
    let trained = |name: &str, more: &[&str]| {
        train(&run(name), &[&["train", "--replicas", "2"], more, &RUN[1..]].concat());
        fs::read(run(name).join("model.safetensors")).unwrap()
    };
    assert!(trained("threads", &[]) == trained("processes", &["--processes"]), "the bytes differ");

    let [first, second] = ranks(&run("killed"), ["0.001"; 2]);
    let second = Ended(second);
    soon("there is a checkpoint", || run("killed").join("checkpoint").exists());
    drop(second);
    let lost = last_words(first);
    assert!(lost.contains("rank 1 is gone: ") && lost.contains("--resume"), "{lost}");

    for rank in ranks(&run("refused"), ["0.001", "0.5"]) {
        let refused = last_words(rank);
        assert!(refused.contains("rank 1 has --lr 0.5, and rank 0 has 0.001"), "{refused}");
    }
}

/// The requests of the page, to a server of this model.
fn served(model: &Path) {
    let (_server, address) = serving(&["serve", "--port", "0", "--model", model.to_str().unwrap()]);
    for body in [
        r#"{"prompt": "fn main() {", "tokens": 50, "seed": 1}"#,
        r#"{"prompt": "use std", "stream": true, "tokens": 5}"#,
    ] {
        let head = format!(
            "POST /generate HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = rest(ask(&address, format!("{head}{body}")));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}
