use performance::measured::figures::lanes::{Bar, svg};

#[test]
fn bars_stand_in_their_lanes_and_long_ones_have_names() {
    let bar = |lane, start, seconds, name: &str| Bar {
        lane,
        start,
        seconds,
        color: "red",
        name: name.into(),
    };
    let bars = [bar(0, 0.0, 0.5, "a<b"), bar(1, 0.5, 0.25, "second"), bar(1, 0.75, 0.01, "tiny")];
    let svg = svg(&["up".into(), "down".into()], &bars, 1.0);
    assert_eq!(svg.matches("<rect").count(), 3);
    assert!(svg.contains("x=\"4.00\" y=\"28.0\" width=\"255.60\""), "{svg}");
    assert!(svg.contains("x=\"260.00\" y=\"104.0\""), "{svg}");
    assert!(svg.contains("a&lt;b") && svg.contains("second") && !svg.contains("tiny"), "{svg}");
}
