//! Programs with a bug that Python finds when it runs, or never, and that rustc refuses with dfdx.
//!
//! Next to each `tests/shapes/NAME.rs` lie the compiler's words (`NAME.stderr`), the same program for PyTorch
//! (`NAME.py`) and the last line that it printed (`NAME.py.txt`). After a change of a program, write the
//! compiler's new words with `SHAPES=overwrite cargo test -p training --test it shapes`.

use dfdx::{data::OneHotEncode, losses::cross_entropy_with_logits_loss, prelude::*};
use std::{
    env, fs, panic,
    path::{Path, PathBuf},
    process::{Command, Output},
};

#[test]
fn rustc_refuses_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let dfdx = built_dfdx(folder.path());
    let write = env::var("SHAPES").is_ok_and(|wish| wish == "overwrite");
    let same_rustc = words_are_of_this_rustc();
    for program in programs() {
        let out = compiled(Path::new(&format!("tests/shapes/{program}.rs")), &dfdx, folder.path());
        assert!(!out.status.success(), "{program} compiles, though it should not");
        let said = normalised(&String::from_utf8(out.stderr).unwrap());
        let file = format!("tests/shapes/{program}.stderr");
        if write {
            fs::write(&file, said).unwrap();
        } else if same_rustc {
            assert_eq!(said, fs::read_to_string(&file).unwrap(), "{file}");
        }
    }
}

/// Compiles a program with a dfdx that is there already, as far as its types.
fn compiled(program: &Path, dfdx: &Path, folder: &Path) -> Output {
    let dependencies = dfdx.parent().unwrap();
    Command::new(rustc())
        .args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--cap-lints=allow"])
        .arg("--verbose") // whole types
        .arg(format!("--extern=dfdx={}", dfdx.display()))
        .arg(format!("-Ldependency={}", dependencies.display()))
        .arg(format!("-o{}", folder.join("out").display()))
        .arg(program)
        .output()
        .unwrap()
}

/// The youngest dfdx next to this test with which a correct program compiles.
fn built_dfdx(folder: &Path) -> PathBuf {
    let beside = env::current_exe().unwrap();
    let found = fs::read_dir(beside.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_dfdx = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libdfdx-") && name.ends_with(".rlib")
    };
    let mut libraries: Vec<PathBuf> = found.filter(is_dfdx).collect();
    libraries.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    let good = folder.join("good.rs");
    fs::write(&good, "use dfdx::prelude::*;\nfn main() { Cpu::default(); }\n").unwrap();
    let works = |path: &PathBuf| compiled(&good, path, folder).status.success();
    libraries.into_iter().rev().find(works).expect("dfdx was built for this test")
}

/// The compiler's words without what differs from machine to machine: where dfdx lies, and its line numbers.
fn normalised(said: &str) -> String {
    let said = said.split("\nerror: aborting").next().unwrap().trim_end();
    let indent = said.find("--> ").map_or(0, |at| at - said[..at].rfind('\n').unwrap() - 1);
    let (mut lines, mut of_dfdx, mut width) = (Vec::new(), false, 0);
    for line in said.lines() {
        let mut line = line.to_owned();
        if let Some((before, path)) = line.split_once("--> ") {
            let inside = path.split_once("/dfdx-").and_then(|(_, inside)| inside.split_once('/'));
            of_dfdx = inside.is_some();
            if let Some((_, file)) = inside {
                let file = file.split(':').next().unwrap();
                line = format!("{before}--> $CARGO/dfdx-$VERSION/{file}");
            }
        } else if let Some((number, code)) = line.split_once(" |")
            && number.trim().parse::<usize>().is_ok()
        {
            if of_dfdx {
                line = format!("{:1$} |{code}", "", number.len());
            } else {
                width = width.max(number.trim().len());
            }
        } else if line.starts_with(char::is_alphabetic) {
            of_dfdx = false;
        }
        lines.push(line);
    }
    // The margin is as wide as the longest number that is left.
    let gone = " ".repeat(indent - width);
    let kept = lines.iter().map(|line| line.strip_prefix(&gone).unwrap_or(line));
    kept.collect::<Vec<_>>().join("\n") + "\n"
}

fn rustc() -> String {
    env::var("RUSTC").unwrap_or_else(|_| "rustc".into())
}

/// Each version of rustc may word its messages in its own way. Those next to the programs are of the oldest
/// one that the course allows.
fn words_are_of_this_rustc() -> bool {
    let version = Command::new(rustc()).arg("--version").output().unwrap().stdout;
    String::from_utf8(version)
        .unwrap()
        .starts_with(&format!("rustc {}.", env!("CARGO_PKG_RUST_VERSION")))
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
    let [scores, labels]: [Tensor<(usize, Const<10>), f32, _>; 2] =
        [32, 31].map(|batch| dev.zeros_like(&(batch, Const)));
    let loss = || cross_entropy_with_logits_loss(scores, labels);
    assert!(panic::catch_unwind(loss).is_err());
}

/// Six values are no row of seven.
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
