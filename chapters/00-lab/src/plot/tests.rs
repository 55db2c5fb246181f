use super::{canvas::TEXT, *};
use proptest::prelude::*;

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
    let svg = plot.svg();
    assert_sound(&svg);
    for text in ["\nnaive\n", "\npacked\n", "\nFMA peak\n", "\n512\n", "\n1024\n", "rate (GFLOP/s)"]
    {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
    let limit = |line: &&str| line.contains("stroke=\"#000000\" stroke-width=\"16\"");
    assert!(svg.lines().filter(limit).count() > 9, "the limit is not dashed");
    let has = |series: usize| {
        let plotters::style::RGBColor(r, g, b) = canvas::PALETTE[series];
        svg.contains(&format!("#{r:02X}{g:02X}{b:02X}"))
    };
    assert!(has(0) && has(1) && !has(2));
}

#[test]
fn names_at_the_ends_of_lines_do_not_overlap() {
    let plot = line_plot(
        Scale::Linear,
        (0..8)
            .map(|i| series(&format!("line {i}"), &[(0.0, 0.0), (1.0, 5.0 + 0.01 * f64::from(i))]))
            .collect(),
    );
    let svg = plot.svg();
    // The text follows its element's line.
    let lines: Vec<&str> = svg.lines().collect();
    let mut places: Vec<f64> = lines
        .windows(2)
        .filter(|pair| pair[1].starts_with("line "))
        .flat_map(|pair| attributes(pair[0], "text", "y"))
        .collect();
    assert_eq!(places.len(), 8);
    places.sort_by(f64::total_cmp);
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 10.0 * TEXT), "{places:?}");
}

#[test]
fn a_spread_becomes_a_band() {
    let mut plot = line_plot(Scale::Linear, vec![series("a", &[(0.0, 1.0), (1.0, 2.0)])]);
    assert_eq!(plot.svg().matches("<polygon").count(), 0);
    plot.series[0].band = vec![(0.9, 1.1), (1.8, 2.3)];
    let svg = plot.svg();
    assert_eq!(
        svg.lines()
            .filter(|line| line.starts_with("<polygon") && line.contains("opacity=\"0.18\""))
            .count(),
        1,
        "{svg}"
    );
}

#[test]
fn a_bar_is_as_long_as_its_value_on_the_axis() {
    let plot = BarPlot {
        axis: Axis::new("rate (GFLOP/s)", Scale::Linear),
        bars: vec![bar("a", Some(50.0), "50"), bar("b", Some(100.0), "100")],
        limits: vec![("limit".to_owned(), 120.0)],
    };
    let svg = plot.svg();
    assert_sound(&svg);
    let lengths: Vec<f64> = svg
        .lines()
        .filter(|line| line.starts_with("<polygon"))
        .map(|line| {
            let points = line.split("points=\"").nth(1).unwrap_or_default();
            let xs: Vec<f64> = points
                .split([' ', '"'])
                .filter_map(|p| p.split_once(',')?.0.parse().ok())
                .collect();
            xs.iter().copied().fold(f64::MIN, f64::max)
                - xs.iter().copied().fold(f64::MAX, f64::min)
        })
        .collect();
    assert_eq!(lengths.len(), 2);
    assert!((lengths[1] / lengths[0] - 2.0).abs() < 0.01, "{lengths:?}");
    assert!(svg.contains("\nlimit\n"));
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
    let svg = plot.svg();
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

    let spots = around((50.0, 50.0), "a label");
    let taken = spots[0].area;
    let spot = quiet_spot(&spots, &[], &[taken], [0.0, 0.0, 200.0, 200.0]);
    assert_ne!(spot.area.map(f64::to_bits), taken.map(f64::to_bits));
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
        let svg = plot.svg();
        prop_assert!(svg.lines().all(|line| !line.trim().is_empty()));
        prop_assert!(svg.ends_with("</svg>\n"));
        let plot = BarPlot {
            axis: Axis { range, ..Axis::new("x", scale) },
            limits: bars.iter().flatten().map(|&v| (name.clone(), v)).collect(),
            bars: bars.into_iter().map(|v| bar(&name, v, "text")).collect(),
        };
        prop_assert!(plot.svg().lines().all(|line| !line.trim().is_empty()));
    }
}
