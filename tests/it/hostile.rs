//! What the command does where its output is closed, nothing can be written, and names are not text: it reports that in
//! a sentence, and never panics.

use crate::{command, root, said, throughput};
use std::{
    fs, io,
    process::{Command, Output},
};

/// The one sentence of a command that failed.
fn failed(out: &Output) -> String {
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    let [error] = errors[..] else { panic!("{said}") };
    error.to_owned()
}

/// The commands that print and end soon.
const SPEAKING: [&[&str]; 5] = [
    &["plan", "--model", "mlp"],
    &["doctor", "--json"],
    &["measure", "--list"],
    &["check", "--list"],
    &["check", "lab/quartiles", "--hint"],
];

#[test]
fn output_without_a_reader_is_fine() {
    for words in SPEAKING {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let out = command(words, root()).stdout(writer).output().unwrap();
        let said = said(&out);
        assert!(out.status.success() && said.is_empty(), "{words:?}: {} {said}", out.status);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_one_sentence() {
    for words in SPEAKING {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let error = failed(&command(words, root()).stdout(full).output().unwrap());
        assert!(error.contains("standard output can't be written"), "{words:?}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_need_not_be_text() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join(OsStr::from_bytes(b"gr\xfc\xdfe"));
    // An experiment that only counts.
    let succeeds = |words: &[&str], odd: &OsStr| {
        let out = command(words, folder.path()).arg(odd).output().unwrap();
        assert!(out.status.success(), "{}", said(&out));
        out.stdout
    };
    succeeds(&["measure", "hardware.table", "--records"], odd.file_name().unwrap());
    let records = lab::Records::load(&odd.join("yours")).unwrap();
    let command = &records.runs().next().unwrap().command;
    for part in ["cargo run ", " -- measure hardware.table --records ", "gr\u{fffd}\u{fffd}e"] {
        assert!(command.contains(part), "{command}");
    }

    fs::create_dir_all(odd.join("run")).unwrap();
    let model = training::Classifier::random(training::Model::Linear, 1).unwrap();
    model.save(&odd.join("run").join(lab::run::MODEL)).unwrap();
    let digit = lab::data::drawn(1, 0, 1).train.images;
    let picture = folder.path().join("digit");
    fs::write(&picture, lab::data::idx::write_images(&digit, 28, 28)).unwrap();
    let said = succeeds(&["predict", "digit", "--json", "--run"], odd.join("run").as_os_str());
    let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
    assert!(said["model_file"].as_str().unwrap().contains("gr\u{fffd}\u{fffd}e"));
}

#[test]
fn measure_knows_before_it_measures_that_it_can_not_save() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    lab::testing::put(folder.path(), "damaged/yours/matmul.json", "{");
    // These would take minutes.
    let minutes = ["measure", "matmul", "--budget", "full", "--records"];
    for (records, says) in [("file", "file/yours: "), ("damaged", "matmul.json is not a record")] {
        let words = [&minutes[..], &[records]].concat();
        let out = throughput(&words, folder.path());
        let error = failed(&out);
        assert!(error.contains(says), "{error}");
        // The cause once, and nothing was measured.
        assert!(error.matches("(os error").count() <= 1, "{error}");
        assert!(out.stdout.is_empty(), "{}", String::from_utf8_lossy(&out.stdout));
    }
    for (name, says) in [
        ("index", "can't be a machine's name"),
        ("Contributed", "can't be a machine's name"),
        ("nul", "can't be a machine's name"),
        ("Yours", "there is a machine `yours` already"),
    ] {
        let words = [&minutes[..], &["damaged", "--machine", name]].concat();
        let error = failed(&throughput(&words, folder.path()));
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_place_that_is_no_folder_is_said_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "dear").unwrap();
    let mut places = vec![("file", "is no folder")];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        places.extend([("link", "is a link that leads nowhere"), ("/dev/null", "is no folder")]);
    }
    for (place, says) in places {
        let error = failed(&throughput(&["train", "--run", place], folder.path()));
        assert!(error.contains(says) && error.contains("another"), "{error}");
        let words = ["book", "build", "--out", place];
        let error = failed(&throughput(&words, folder.path()));
        assert!(error.contains(place) && error.contains("choose a new or empty folder"), "{error}");
        let error = failed(&throughput(&["book", "build", "--records", place], folder.path()));
        assert!(error.contains(place) && error.contains("name another with --records"), "{error}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "dear");
}

#[test]
fn more_threads_than_cores_can_serve_are_not_started() {
    let mut list = command(&["measure", "--list"], root());
    let out = list.env("RAYON_NUM_THREADS", "100000").output().unwrap();
    let said = said(&out);
    assert!(out.status.success() && said.contains("asks for 100000 threads"), "{said}");
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_limit_on_files_is_an_error_and_not_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let limited = "ulimit -f 8; exec \"$0\" measure --send --machine epyc-2core --records \"$1\"";
    let out = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_throughput")])
        .arg(root().join("book/records"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = failed(&out);
    assert!(error.contains("can't write throughput-") && error.contains("too large"), "{error}");
}
