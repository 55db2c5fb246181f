//! What a reader is told of a kernel: the solution is right, the stub is not, and each mistake has its sentence.

#[path = "../../../../../tools/bookbinder/src/exercises/stub.rs"]
mod stub;

use std::{env, fs, path::PathBuf, process::Command};
use tile::exercise::{EXERCISES, judge};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../exercises").join(name)
}

fn solution(name: &str) -> String {
    fs::read_to_string(folder(name).join("solution.rs")).unwrap()
}

#[test]
fn solutions_are_right() {
    for exercise in &EXERCISES {
        judge(exercise.name, &solution(exercise.name)).unwrap();
    }
}

/// rustc takes the stub, unless a reader's file is in its place; the interpreter does not.
#[test]
fn stubs_compile_and_say_what_is_to_do() {
    for (name, says) in [
        ("product-tn", "this is A·B"),
        ("epilogue", "`before` is x·Wᵀ without the bias"),
        ("attention-dq", "these are the scores times K"),
    ] {
        let begins = stub::stub(&solution(name)).unwrap();
        let why = judge(name, &begins).err().unwrap();
        assert!(why.starts_with(says), "{why}");
        stub::write_missing(&folder(name)).unwrap();
        if fs::read_to_string(folder(name).join("exercise.rs")).unwrap() == begins {
            let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut build = Command::new(cargo);
            build.args(["build", "--package", "exercises", "--features", name]);
            assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
        }
    }
}

#[test]
fn mistakes_have_their_sentences() {
    const BIAS: &str = "z = z + bias_tile.reshape(shape![1, BN]).broadcast(shape![BM, BN]);";
    const STEP: &str = "z = mma(x_tiles.load([row, i]), w_tile, z);";
    const LOAD: &str = "let bias_tile: Tile<f32, { [BN] }> =\n            convert_tile(bias.partition(shape![BN]).load([column]));";
    const LOOP: &str = "for i in 0i32..num_tiles(&x_tiles, 1) {";
    const MASKED: &str = "select(ge_tile(queries, keys), exp(scores - log_sum), zero)";
    // Before the mark that follows the dots.
    const ROWS: &str = ".reshape(shape![BM, 1])\n            .broadcast(shape![BM, BN]);\n        // EXERCISE: instead";
    for (name, changes, says) in [
        ("product-tn", &[("&a_tiles, 0", "&a_tiles, 1")][..], "can't prove an index"),
        ("product-tn", &[("load([i, row])", "load([row, i])")], "can't prove an index"),
        ("product-tn", &[(".transpose()", ".reshape(shape![BM, BK])")], "only reshaped"),
        ("product-tn", &[("c.store(sum);", "")], "numbers of `c` are not stored"),
        ("epilogue", &[(BIAS, "")], "`before` is x·Wᵀ without"),
        ("epilogue", &[("before.store(z_short);", "")], "numbers of `before` are not stored"),
        (
            "epilogue",
            &[("// EXERCISE: end", "if GELU == 1i32 { z = gelu(z); } else { z = relu(z); }")],
            "`before` has passed through the activation",
        ),
        (
            "epilogue",
            &[
                ("reshape(shape![1, BN])", "reshape(shape![BM, 1])"),
                ("[BN]).load([column])", "[BM]).load([row])"),
                ("{ [BN] }> =", "{ [BM] }> ="),
            ],
            "is added by rows",
        ),
        (
            "epilogue",
            &[
                (BIAS, ""),
                (STEP, &format!("{STEP} {BIAS}")),
                (LOAD, ""),
                (LOOP, &format!("{LOAD} {LOOP}")),
            ],
            "in each step along k",
        ),
        ("epilogue", &[("z = gelu(z);", "z = relu(z);")], "`GELU` is 1, and y is ReLU's"),
        ("epilogue", &[("z = relu(z);", "z = gelu(z);")], "`GELU` is 0, and y is GELU's"),
        ("epilogue", &[("z = relu(z);", "")], "y has not passed through"),
        ("attention-dq", &[("(queries, keys)", "(keys, queries)")], "the wrong way round"),
        ("attention-dq", &[(MASKED, "exp(scores - log_sum)")], "no key is masked"),
        ("attention-dq", &[("exp(scores - log_sum)", "exp(scores)")], "is not normalised"),
        ("attention-dq", &[("(dsoftmax - dot)", "dsoftmax")], "`dot` is not subtracted"),
        ("attention-dq", &[("(dsoftmax - dot) * scales", "(dsoftmax - dot)")], "scale is missing"),
        ("attention-dq", &[("exp(scores -", "exp(scores * scales -")], "scale is there twice"),
        ("attention-dq", &[(ROWS, ".broadcast(shape![BM, BN]);")], "dots lie along the keys"),
        ("attention-dq", &[("mma(dscores, k_tile", "mma(dscores, v_tile")], "is over V"),
    ] {
        let text = changes.iter().fold(solution(name), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        let why = judge(name, &text).err().unwrap_or_default();
        assert!(why.contains(says), "{name}, {changes:?}: {why}");
    }
}
