use backprop::measured::peers::{Job, Peer, folder};
use lab::testing::refused;

const JOB: Job = Job { batch: 32, epochs: 2, seed: 7 };

#[cfg(unix)]
#[test]
fn a_peer_is_asked_and_answers_as_often_as_there_are_jobs() {
    let script = r#"while read line; do case "$line" in
            '{"batch":32,"epochs":2,"seed":7}') echo '{"seconds": [2, 1.5], "accuracy": 0.5, "framework": "sh", "threads": 1}';;
            *:9}) echo '{"error": "out of memory"}';;
            *) echo no;; esac; done"#;
    let mut peer = Peer::start("sh", &["-c", script]).unwrap();
    for _ in 0..2 {
        let answer = peer.run(JOB).unwrap();
        assert_eq!((answer.seconds, answer.accuracy), (vec![2.0, 1.5], 0.5));
        // A job that it can't do costs no other.
        refused(peer.run(Job { seed: 9, ..JOB }), ["can't do it (out of memory)"]);
    }
    refused(peer.run(Job { seed: 8, ..JOB }), ["replies with something else", "\"seed\":8"]);
}

#[cfg(unix)]
#[test]
fn a_peer_that_ends_or_is_missing_is_a_sentence() {
    let mut peer = Peer::start("sh", &["-c", "exit 3"]).unwrap();
    let error = peer.run(JOB).unwrap_err().to_string();
    assert!(error.contains("run it by hand"), "{error}");
    let Err(error) = Peer::start("no-such-python", &[]) else { panic!("it started") };
    assert!(error.to_string().contains("--peers=PYTHON"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_library_that_is_missing_is_named() {
    let script = "echo warned >&2; echo \"No module named 'keras'\" >&2; exit 1";
    refused(
        Peer::start("sh", &["-c", script]).unwrap().run(JOB),
        ["without a reply (No module named 'keras');"],
    );
}

#[test]
fn the_programs_are_there() {
    for name in ["pytorch.py", "keras.py", "mnist.py"] {
        assert!(folder().join(name).is_file(), "{name}");
    }
}
