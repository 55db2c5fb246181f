//! The README keeps its promises: its figure is drawn from the records. That its commands run is in `stale.rs`, that its
//! links lead somewhere in `forge.rs`.

use crate::{read, root, said, throughput};
use lab::{
    Records,
    plot::{Axis, Bar, BarPlot, Scale},
    record::ParamList,
};
use std::fs;

/// What the course gains, chapter by chapter: each bar one ratio of a reference machine's records.
fn bars() -> Vec<Bar> {
    let of = |machine| Records::load(&root().join("book/records").join(machine)).unwrap();
    let (zen4, zen5) = (of("genoa-2core"), of("turin-2core"));
    let bar = |records: &Records, name: &str, key: &str, params: ParamList| {
        let mut bar = Bar::of(name, records.find(key, params), 1.0).unwrap();
        // The bars are of many experiments: spreads would not compare.
        let (median, ..) = bar.value.unwrap();
        bar.value = Some((median, median, median));
        bar.text = format!("{}×", bar.text.trim_end_matches('×'));
        bar
    };
    let total: ParamList = &[("n", &1024), ("inputs", &"f32")];
    let odd: ParamList = &[("n", &1000), ("rung", &"threads")];
    let pytorch: ParamList = &[("who", &"pytorch-fused"), ("threads", &2)];
    let ladder: ParamList = &[("batch", &128), ("model", &"784-128-10")];
    let product = "1 · Matrix product: three loops → packed, AVX-512, threads";
    let step = "3 · Training step, batch 32: PyTorch → Rust from scratch";
    let dfdx = "5 · Training step, batch 128: dfdx → the engine";
    vec![
        bar(&zen4, product, "matmul.ladder.total", total),
        bar(&zen4, "1 · The same, at n = 1000", "matmul.nearby.speedup", odd),
        bar(&zen4, step, "backprop.race32.ratio", pytorch),
        bar(&zen4, "3 · The same, batch 128", "backprop.race128.ratio", pytorch),
        bar(&zen5, dfdx, "performance.ladder.total", ladder),
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
fn wrong_usage_is_exit_code_2_and_failure_is_1() {
    let code = |words: &[&str]| {
        let out = throughput(words, root());
        (out.status.code(), said(&out))
    };
    assert_eq!(code(&["fly"]).0, Some(2));
    let (status, said) = code(&["measure", "cooking"]);
    assert_eq!(status, Some(1));
    assert!(said.starts_with("error: ") && said.trim_end().lines().count() == 1, "{said}");
}
