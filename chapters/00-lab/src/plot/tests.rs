use super::{
    canvas::{TEXT, text_width},
    layout::clipped,
    spots::{Busy, around, far_spot, quiet_spot, sampled, spread_apart, within},
    *,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn series(name: &str, points: &[(f64, f64)]) -> Series {
    Series { name: name.to_owned(), points: points.to_vec(), band: vec![], joined: true }
}

fn line_plot(scale: Scale, series: Vec<Series>) -> LinePlot {
    LinePlot {
        x: Axis::new("n", scale),
        y: Axis::new("rate (GFLOP/s)", scale),
        series,
        limits: vec![],
    }
}

fn bar(name: &str, value: Option<f64>, text: &str) -> Bar {
    Bar {
        name: name.to_owned(),
        value: value.map(|v| (v, 0.9 * v, 1.1 * v)),
        text: text.to_owned(),
    }
}

/// The numbers in the attribute `name` of every element `tag`.
fn attributes(svg: &str, tag: &str, name: &str) -> Vec<f64> {
    svg.lines()
        .filter(|line| line.starts_with(&format!("<{tag} ")))
        .filter_map(|line| line.split(&format!(" {name}=\"")).nth(1)?.split('"').next())
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// Left and right of each bar.
fn sides(svg: &str) -> Vec<(f64, f64)> {
    let of = |line: &str| {
        let points = line.split("points=\"").nth(1).unwrap_or_default();
        let xs = points.split([' ', '"']).filter_map(|p| p.split_once(',')?.0.parse().ok());
        xs.fold((f64::MAX, f64::MIN), |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x)))
    };
    svg.lines().filter(|line| line.starts_with("<polygon")).map(of).collect()
}

fn assert_sound(svg: &str) {
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.lines().all(|line| !line.trim().is_empty()), "a blank line in {svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn a_line_plot_names_its_axes_its_series_and_its_limits() {
    let mut plot = line_plot(
        Scale::Log,
        vec![
            series("naive", &[(512.0, 0.5), (1024.0, 0.3)]),
            series("packed", &[(512.0, 60.0), (1024.0, 62.0)]),
        ],
    );
    plot.x = plot.x.ticks([512.0, 1024.0]);
    plot.limits = vec![LimitLine {
        name: "FMA peak".to_owned(),
        points: vec![(512.0, 70.0), (1024.0, 70.0)],
    }];
    let svg = plot.svg_on(Sheet::Wide);
    assert_sound(&svg);
    for text in
        [">naive<", ">packed<", ">FMA peak<", ">512<", ">1024<", ">rate (GFLOP/s, log scale)<"]
    {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
    assert_eq!(svg.matches("stroke-dasharray").count(), 1, "the limit is not dashed");
    let has = |series: usize| {
        let plotters::style::RGBColor(r, g, b) = canvas::PALETTE[series];
        svg.contains(&format!("#{r:02X}{g:02X}{b:02X}"))
    };
    assert!(has(0) && has(1) && !has(2));
    let bands = |svg: &str| {
        let band = |line: &&str| line.starts_with("<polygon") && line.contains("opacity=\"0.18\"");
        svg.lines().filter(band).count()
    };
    assert_eq!(bands(&svg), 0);
    plot.series[0].band = vec![(0.4, 0.6), (0.2, 0.4)];
    assert_eq!(bands(&plot.svg_on(Sheet::Wide)), 1, "a spread becomes a band");
}

#[test]
fn names_at_the_ends_of_lines_do_not_overlap() {
    let line =
        |i: i32| series(&format!("line {i}"), &[(0.0, 0.0), (1.0, 5.0 + 0.01 * f64::from(i))]);
    let drawn = |series| line_plot(Scale::Linear, series).svg_on(Sheet::Wide);
    let named = |svg: &str, name: &str, attribute: &str| {
        let named = svg.lines().filter(|line| line.contains(name)).collect::<Vec<_>>().join("\n");
        attributes(&named, "text", attribute)
    };
    let mut places = named(&drawn((0..8).map(line).collect()), ">line ", "y");
    assert_eq!(places.len(), 8);
    places.sort_by(f64::total_cmp);
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= TEXT), "{places:?}");
    // And the name of a point beside one keeps off it.
    let line = series("line with a long name", &[(0.0, 0.0), (1.0, 5.0)]);
    let svg = drawn(vec![line, Series::dots("a point", vec![(1.0, 4.8)])]);
    let [x, end] = [">a point<", ">line"].map(|name| named(&svg, name, "x")[0]);
    assert!(x + text_width("a point") < end, "{svg}");
}

#[test]
fn a_bar_is_as_long_as_its_value_on_the_axis() {
    let plot = BarPlot {
        axis: Axis::new("rate (GFLOP/s)", Scale::Linear),
        bars: vec![bar("a", Some(50.0), "50"), bar("b", Some(100.0), "100")],
        limits: vec![("limit".to_owned(), 120.0)],
    };
    let svg = plot.svg_on(Sheet::Wide);
    assert_sound(&svg);
    let lengths: Vec<f64> = sides(&svg).iter().map(|(left, right)| right - left).collect();
    assert_eq!(lengths.len(), 2);
    assert!((lengths[1] / lengths[0] - 2.0).abs() < 0.01, "{lengths:?}");
    assert!(svg.contains(">limit<"));
}

#[test]
fn a_bar_that_was_not_measured_says_why() {
    let plot = BarPlot {
        axis: Axis::new("rate", Scale::Log),
        bars: vec![
            bar("portable", Some(3.0), "3 GFLOP/s"),
            bar("the matrix unit", None, "not measured: this CPU has no AMX"),
            bar("zero has no position here", Some(0.0), "0 GFLOP/s"),
        ],
        limits: vec![],
    };
    let svg = plot.svg_on(Sheet::Wide);
    assert_sound(&svg);
    assert!(svg.contains("not measured: this CPU has no AMX"));
    assert_eq!(svg.matches("<polygon").count(), 1);
}

#[test]
fn labels_keep_off_each_other() {
    let mut places = [10.0, 10.0, 11.0, 90.0];
    spread_apart(&mut places, &[20.0; 4], 0.0, 100.0);
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 19.99), "{places:?}");
    assert!(places[0] >= 10.0 && places[3] <= 90.0, "{places:?}");

    let spots = around((50.0, 50.0), &["a label".to_owned()]);
    let mut busy = Busy::default();
    busy.text(spots[0].area);
    let box_ = [0.0, 0.0, 200.0, 200.0];
    let spot = quiet_spot(&spots, &busy, box_).unwrap();
    assert!(spot.area[2] <= spots[0].area[0] || spot.area[1] >= spots[0].area[3], "{spot:?}");
}

#[test]
fn a_label_keeps_off_lines_and_points_or_goes_elsewhere() {
    let mut busy = Busy::default();
    for row in 0..10 {
        busy.line(&[(0.0, 10.0 * f64::from(row)), (100.0, 10.0 * f64::from(row))]);
    }
    busy.marks(&[(20.0, 20.0)]);
    let lines = ["a label".to_owned()];
    let box_ = [0.0, 0.0, 200.0, 100.0];
    assert!(quiet_spot(&around((20.0, 20.0), &lines), &busy, box_).is_none());
    let far = far_spot(&[(20.0, 20.0)], &lines, &busy, box_).unwrap();
    assert!(far.area[0] > 100.0 && !far.leader.is_empty(), "{far:?}");
    for point in sampled(&[(0.0, 20.0), (100.0, 20.0)]) {
        assert!(!within(point, far.area));
    }
    busy.text(box_);
    assert!(far_spot(&[(20.0, 20.0)], &lines, &busy, box_).is_none());
}

#[test]
fn a_name_without_room_goes_to_the_key() {
    // Lines everywhere: the limit's name has no place on the figure.
    let wall = |i: usize| series("", &[(0.0, i as f64), (1.0, i as f64)]);
    let mut plot = line_plot(Scale::Linear, (0..40).map(wall).collect());
    plot.y = plot.y.range(0.0, 39.0);
    plot.x = plot.x.range(0.0, 1.0);
    plot.limits =
        vec![LimitLine { name: "the limit".to_owned(), points: vec![(0.0, 20.0), (1.0, 20.0)] }];
    for sheet in Sheet::BOTH {
        let svg = plot.svg_on(sheet);
        assert_eq!(svg.matches(">the limit<").count(), 1, "{svg}");
        assert_eq!(svg.matches("stroke-dasharray").count(), 2, "one in the key");
    }
}

#[test]
fn a_figure_tells_its_values() {
    let plot = line_plot(Scale::Linear, vec![series("a \"<b>", &[(1.0, 2.0), (3.0, 4.5)])]);
    let svg = plot.svg_on(Sheet::Wide);
    let told = svg.split("data-at=\"").nth(1).unwrap().split('"').next().unwrap();
    let told: Json = serde_json::from_str(
        &told.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">"),
    )
    .unwrap();
    assert_eq!(told[0][0], "a \"<b>");
    assert_eq!((&told[0][2][2], &told[0][2][3]), (&json!("4.50"), &json!("3")));
    assert!(svg.contains(" data-x=\"n\" data-y=\"rate (GFLOP/s)\""), "{svg}");
    let bars = BarPlot {
        axis: Axis::new("rate", Scale::Linear).toggled(),
        bars: vec![bar("a", Some(50.0), "50 GFLOP/s"), bar("b", None, "not measured")],
        limits: vec![],
    };
    let drawing = bars.drawing("");
    assert!(
        drawing.svg.contains("50 GFLOP/s&quot;,&quot;quartiles 45.0 to 55.0"),
        "{}",
        drawing.svg
    );
    let [other, _] = drawing.other.unwrap();
    assert!(other.contains(">rate (log scale)<") && !drawing.svg.contains("log scale"), "{other}");
}

#[test]
fn bars_of_ratios_begin_at_one() {
    let plot = BarPlot {
        axis: Axis::new("ratio", Scale::Log).from(1.0),
        bars: vec![bar("a quarter", Some(0.25), "0.25"), bar("four", Some(4.0), "4")],
        limits: vec![],
    };
    for sheet in Sheet::BOTH {
        let sides = sides(&plot.svg_on(sheet));
        assert!((sides[0].1 - sides[1].0).abs() < 0.2, "both touch 1: {sides:?}");
        assert!((sides[0].1 - sides[0].0 - sides[1].1 + sides[1].0).abs() < 0.3, "{sides:?}");
    }
}

#[test]
fn a_limit_runs_behind_no_value() {
    let plot = BarPlot {
        axis: Axis::new("rate", Scale::Linear),
        bars: vec![bar("a", Some(50.0), "50 GFLOP/s"), bar("b", Some(99.0), "99 GFLOP/s")],
        limits: vec![("limit".to_owned(), 58.0)],
    };
    let svg = plot.svg_on(Sheet::Wide);
    let dashed = svg.lines().find(|line| line.contains("stroke-dasharray")).unwrap();
    assert_eq!(dashed.matches('M').count(), 2, "it is interrupted once: {dashed}");
}

#[test]
fn a_line_is_cut_at_the_box() {
    let box_ = [0.0, 0.0, 10.0, 10.0];
    let pieces = clipped(&[(-5.0, 5.0), (5.0, 5.0), (5.0, 15.0), (8.0, 15.0), (8.0, 5.0)], box_);
    assert_eq!(pieces, [vec![(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)], vec![(8.0, 10.0), (8.0, 5.0)]]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_that_is_drawn_makes_a_broken_figure(
        points in prop::collection::vec(prop::collection::vec((any::<f64>(), any::<f64>()), 0..6), 0..4),
        bars in prop::collection::vec(prop::option::of(any::<f64>()), 0..6),
        name in "\\PC{0,40}",
        log: bool,
        joined: bool,
        range in prop::option::of((any::<f64>(), any::<f64>())),
    ) {
        let scale = if log { Scale::Log } else { Scale::Linear };
        let mut plot = line_plot(scale, points.iter().map(|p| Series {
            band: p.iter().map(|&(a, b)| (b, a)).collect(),
            joined,
            ..series(&name, p)
        }).collect());
        plot.y.range = range;
        plot.limits = points.into_iter().map(|points| LimitLine { name: name.clone(), points }).collect();
        let svg = plot.svg_on(Sheet::Wide);
        prop_assert!(svg.lines().all(|line| !line.trim().is_empty()));
        prop_assert!(svg.ends_with("</svg>\n"));
        let plot = BarPlot {
            axis: Axis { range, ..Axis::new("x", scale) },
            limits: bars.iter().flatten().map(|&v| (name.clone(), v)).collect(),
            bars: bars.into_iter().map(|v| bar(&name, v, "text")).collect(),
        };
        prop_assert!(plot.svg_on(Sheet::Wide).lines().all(|line| !line.trim().is_empty()));
    }
}
