//! The README keeps its promises: its figure is drawn from the records. That its commands run is in `stale.rs`, that its
//! links lead somewhere in `forge.rs`.

use crate::{read, root, said, throughput};
use lab::{
    Records,
    plot::{Axis, Bar, BarPlot, Scale, Sheet},
    record::params,
    testing::is_as_made,
};

/// What an H100 did: kernels of chapter 2's ladder, each as a part of cuBLAS' rate on the same card.
fn bars() -> Vec<Bar> {
    let h100 = Records::load(&root().join("book/records/h100")).unwrap();
    let bar = |(name, rung): (&str, &str)| {
        let params = params(&[("device", &"cuda"), ("n", &8192), ("rung", &rung)]);
        let found = h100.find("cpu_gpu.ladder.of_cublas", &params);
        let mut bar = Bar::scaled(name, found, |part| part / 0.01).unwrap();
        // The spreads are thinner than a line.
        let (median, ..) = bar.value.unwrap();
        bar.value = Some((median, median, median));
        bar.text = format!("{median:.0}%");
        bar
    };
    let rungs = [
        ("naive", "naive"),
        ("coalesced loads", "coalesced"),
        ("shared tiles", "shared"),
        ("1D register tiles", "tile1d"),
        ("2D register tiles", "tile2d"),
        ("wide loads", "vectorised"),
        ("double buffering", "double_buffered"),
        ("warp tiles", "warp_tiles"),
        ("async copies", "async_copy"),
        ("wgmma, in bf16", "wgmma"),
    ];
    rungs.map(bar).into()
}

/// The figure as a file of its own: a grey that is visible on light and dark, in place of black.
fn picture() -> String {
    let axis = Axis::new("percent of cuBLAS on the same H100", Scale::Linear).range(0.0, 110.0);
    let plot = BarPlot { axis, bars: bars(), limits: vec![("cuBLAS".to_owned(), 100.0)] };
    plot.svg_on(Sheet::Wide).replace("#000000", "#808080") + "\n"
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
    is_as_made(&root().join("book/course.svg"), &picture());
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
