//! The README keeps its promises: its figure is drawn from the records, its links lead somewhere. That its commands
//! run is in `stale.rs`.

use lab::{
    Records,
    plot::{Axis, Bar, BarPlot, Scale},
    record::ParamList,
};
use std::{fs, path::Path, process::Command};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// What the course gains, chapter by chapter: each bar one ratio of the reference machine's records.
fn bars() -> Vec<Bar> {
    let records = Records::load(&root().join("book/records/genoa-2core")).unwrap();
    let bar = |name: &str, key: &str, params: ParamList| {
        let mut bar = Bar::of(name, records.find(key, params), 1.0).unwrap();
        // The bars are of many experiments: spreads would not compare.
        let (median, ..) = bar.value.unwrap();
        bar.value = Some((median, median, median));
        bar.text = format!("{}×", bar.text.trim_end_matches('×'));
        bar
    };
    vec![
        bar(
            "1 · Matrix product: three loops → packed, AVX-512, threads",
            "matmul.ladder.total",
            &[("n", &1024), ("inputs", &"f32")],
        ),
        bar(
            "1 · The same, at n = 1000",
            "matmul.nearby.speedup",
            &[("n", &1000), ("rung", &"threads")],
        ),
        bar(
            "3 · Training step, batch 32: PyTorch → Rust from scratch",
            "backprop.race32.ratio",
            &[("who", &"pytorch-fused"), ("threads", &2)],
        ),
        bar(
            "3 · The same, batch 128",
            "backprop.race128.ratio",
            &[("who", &"pytorch-fused"), ("threads", &2)],
        ),
        bar(
            "5 · Training step, batch 128: dfdx as it comes → made fast",
            "performance.race.ratio",
            &[("who", &"stock"), ("batch", &128), ("model", &"784-128-10")],
        ),
    ]
}

/// The figure as a file of its own: a grey that is visible on light and dark, in place of black.
fn picture() -> String {
    let axis = Axis::new("times as fast", Scale::Log).range(1.0, 600.0);
    let plot = BarPlot { axis, bars: bars(), limits: Vec::new() };
    plot.svg().replace("#000000", "#808080") + "\n"
}

#[test]
fn its_picture_is_told_in_words() {
    let readme = read("README.md");
    let alt = readme.split("![").nth(1).unwrap().split("](").next().unwrap();
    let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
    for bar in bars() {
        assert!(alt.contains(&bar.text), "the figure's text lacks {}: {alt}", bar.text);
    }
}

#[test]
fn its_picture_is_the_record() {
    let file = root().join("book/course.svg");
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        fs::write(&file, picture()).unwrap();
    }
    assert!(
        fs::read_to_string(&file).is_ok_and(|old| old == picture()),
        "book/course.svg is not what the records draw; run `UPDATE_PICTURES=1 cargo test --test it`"
    );
}

#[test]
fn its_links_lead_somewhere() {
    let text = read("README.md");
    let mut links = 0;
    for part in text.split("](").skip(1) {
        let target = part.split([')', '#']).next().unwrap();
        if !target.starts_with("http") {
            assert!(root().join(target).exists(), "README.md links to {target}");
            links += 1;
        }
    }
    assert!(links > 3);
}

#[test]
fn wrong_usage_is_exit_code_2_and_failure_is_1() {
    let code = |words: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_throughput")).args(words).output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    assert_eq!(code(&["fly"]).0, Some(2));
    let (status, said) = code(&["measure", "cooking"]);
    assert_eq!(status, Some(1));
    assert!(said.starts_with("error: ") && said.trim_end().lines().count() == 1, "{said}");
}
