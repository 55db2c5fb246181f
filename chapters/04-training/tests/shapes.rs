//! Programs with a mistake that Python finds when it runs, or never, and that rustc refuses with dfdx.
//!
//! Beside each `tests/shapes/NAME.rs` lie the compiler's words (`NAME.stderr`), the same program for PyTorch
//! (`NAME.py`) and the last line that it printed (`NAME.py.txt`). After a change of a program, write the
//! compiler's new words with `TRYBUILD=overwrite cargo test -p training --test shapes`.

use dfdx::{data::OneHotEncode, losses::cross_entropy_with_logits_loss, prelude::*};
use std::{env, fs, panic, process::Command};

/// The variable that names the folder of the programs, where it is not the usual one.
const FOLDER: &str = "SHAPES";

#[test]
fn rustc_refuses_the_programs() {
    let folder = env::var(FOLDER);
    if folder.is_err() && !words_are_of_this_rustc() {
        return another_rustc_refuses_them_too();
    }
    let folder = folder.unwrap_or_else(|_| "tests/shapes".into());
    trybuild::TestCases::new().compile_fail(format!("{folder}/*.rs"));
}

/// Each version of rustc may word its messages in its own way. Those beside the programs are of the oldest
/// one that the course allows.
fn words_are_of_this_rustc() -> bool {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    String::from_utf8(version)
        .unwrap()
        .starts_with(&format!("rustc {}.", env!("CARGO_PKG_RUST_VERSION")))
}

/// This test once more, on copies of the programs, where any words will do.
fn another_rustc_refuses_them_too() {
    let copies = tempfile::tempdir().unwrap();
    for program in programs() {
        fs::copy(format!("tests/shapes/{program}.rs"), copies.path().join(program + ".rs"))
            .unwrap();
    }
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "rustc_refuses_the_programs"])
        .env(FOLDER, copies.path())
        .env("TRYBUILD", "overwrite")
        .status()
        .unwrap();
    assert!(status.success(), "a program compiles, though it should not");
}

/// The names of the programs.
fn programs() -> Vec<String> {
    fs::read_dir("tests/shapes")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_program_is_short_and_has_its_words_and_its_twin() {
    let programs = programs();
    assert!(programs.len() > 5, "{programs:?}");
    for program in programs {
        for (end, longest) in [("rs", 20), ("py", 20), ("py.txt", 1), ("stderr", 50)] {
            let file = format!("tests/shapes/{program}.{end}");
            let text = fs::read_to_string(&file).expect(&file);
            let lines = text.lines().filter(|line| !line.contains("ANCHOR")).count();
            assert!((1..=longest).contains(&lines), "{file} has {lines} lines");
            // A page quotes it, so it names no folder of the machine that wrote it.
            let named = ["/home", "/root", "/tmp", "/usr", ".cargo", env!("CARGO_MANIFEST_DIR")];
            let found = named.into_iter().find(|place| text.contains(place));
            assert_eq!(found, None, "{file} names a folder");
        }
    }
}

// ANCHOR: run_time
/// The length of a batch is a `usize`, so two that differ meet at run time.
#[test]
fn a_batch_of_another_length_compiles() {
    let dev = Cpu::default();
    let [scores, answers]: [Tensor<(usize, Const<10>), f32, _>; 2] =
        [32, 31].map(|batch| dev.zeros_like(&(batch, Const)));
    let loss = || cross_entropy_with_logits_loss(scores, answers);
    assert!(panic::catch_unwind(loss).is_err());
}

/// Six numbers are no row of seven.
#[test]
fn a_reshape_to_another_size_compiles() {
    let dev = Cpu::default();
    let six: Tensor<(usize, Const<2>), f32, _> = dev.zeros_like(&(3, Const));
    assert!(panic::catch_unwind(|| six.try_reshape_like(&(7,))).is_err());
}

/// The type says how many classes there are, not whether the label is one.
#[test]
fn a_label_without_a_class_compiles() {
    let dev = Cpu::default();
    let hot: Tensor<Rank2<2, 10>, f32, _> = dev.one_hot_encode(Const, [3, 10]);
    assert_eq!(hot.sum::<_, Axis<1>>().as_vec(), [1.0, 0.0]);
}
// ANCHOR_END: run_time
