//! Programs that rustc refuses, and what the command says.

use std::{
    collections::BTreeSet,
    env, fs,
    path::Path,
    process::{self, Command, Output},
};
use tile::kept::stand_in;

fn output(command: &mut Command) -> (Output, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// Each program in `wrong` says in its first line why it is refused: `E0502: …`. The right one compiles.
#[test]
fn wrong_programs_are_refused_and_the_right_one_is_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    // In the development profile's folder; what an earlier build made proves nothing.
    let right = Path::new(env!("CARGO_BIN_EXE_tile")).with_file_name("../debug/right");
    let _ = fs::remove_file(&right);
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.current_dir(folder).args(["build", "--package", "wrong", "--bins", "--keep-going"]);
    let (_, said) = output(build.args(["--message-format", "short", "--color", "never"]));
    let mut seen = BTreeSet::new();
    for file in fs::read_dir(folder.join("wrong/src/bin")).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        let code = text.strip_prefix("//! ").and_then(|text| text.split(':').next()).unwrap();
        let mut errors = said
            .lines()
            .filter(|line| line.contains(&format!("src/bin/{name}:")))
            .filter_map(|line| line.split("error[").nth(1)?.split(']').next());
        // The first is the reason; others may follow from it.
        assert_eq!(errors.next(), (code != "Right").then_some(code), "{name}: {said}");
        seen.insert(code.to_owned());
    }
    let all = ["E0133", "E0277", "E0308", "E0499", "E0502", "E0597", "Right"].map(str::to_owned);
    assert_eq!(seen, BTreeSet::from(all));
    assert!(right.exists(), "{said}");
}

/// Without a driver: one sentence, and exit code 1. (With one, this starts the checks of all kernels.)
#[test]
fn what_needs_a_card_says_so() {
    let mut run = Command::new(env!("CARGO_BIN_EXE_tile"));
    let (output, said) = output(run.arg("run"));
    if output.status.success() {
        return assert!(String::from_utf8_lossy(&output.stdout).contains("right: products"));
    }
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("NVIDIA GPU and its driver, 580 or newer"), "{said}");
}

#[test]
fn a_kernel_that_is_not_there_is_named() {
    for (words, says) in [
        (
            &["hints", "sm_90", "products", "bf16"][..],
            "there is no kernel `products`, only attention_dq, linear,",
        ),
        (&["hints", "sm_90", "product", "f16", "1", "1", "1"], "begins with a type, f32 or bf16"),
        (&["hints", "sm_90", "linear", "64"], "has more arguments"),
        (&["turns", "product", "bf16", "many"], "`many` is no size"),
        (&["turns", "product"], "Usage:"),
        (&["code", "products"], "there is no kernel `products`"),
        (&["code", "sm_12"], "requires sm_80 or newer"),
        (&["walk"], "Usage:"),
    ] {
        let (output, said) = output(Command::new(env!("CARGO_BIN_EXE_tile")).args(words));
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(said.contains(says), "{words:?}: {said}");
    }
}

#[test]
fn without_a_toolkit_it_says_how_to_get_one() {
    let mut hints = Command::new(env!("CARGO_BIN_EXE_tile"));
    hints.args(["hints", "sm_90", "attention_dq", "64", "64", "64"]);
    let (output, said) = output(hints.env_clear().env("CUDA_TOOLKIT_PATH", "/nowhere"));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("tools/cuda/toolkit.sh"), "{said}");
}

/// What was compiled before runs where a stand-in for the compiler is, and nothing else does.
#[test]
fn kept_kernels_need_no_compiler() {
    let folder = env::temp_dir().join(format!("tile-cubins-{}", process::id()));
    let code = |kernel, compiler: &Path| {
        let mut code = Command::new(env!("CARGO_BIN_EXE_tile"));
        code.args(["code", kernel]).env("TILE_CUBINS", &folder);
        let (output, said) = output(code.env("CUTILE_TILEIRAS_PATH", compiler));
        (output.stdout, said)
    };
    let toolkit = env::var_os("CUDA_TOOLKIT_PATH").expect("it names the toolkit");
    let compiled = code("attention_dq", &Path::new(&toolkit).join("bin/tileiras"));
    stand_in(&folder).unwrap();
    assert_eq!(code("attention_dq", &folder.join("tileiras")), compiled);
    let (_, said) = code("linear", &folder.join("tileiras"));
    let _ = fs::remove_dir_all(&folder);
    assert_eq!(compiled.1, "");
    assert!(said.contains("was not compiled before"), "{said}");
}
