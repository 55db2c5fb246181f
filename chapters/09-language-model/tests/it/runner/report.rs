use language_model::runner::report::fitting;

#[test]
fn a_plan_follows_the_clock() {
    // Ten steps a second so far, twenty since: 400 steps in the 20 seconds that are left.
    assert_eq!(fitting((100, 10.0), (300, 20.0), 40.0), 300 + 400);
    assert_eq!(fitting((0, 0.0), (50, 50.0), 50.0), 50, "no time is left");
    assert_eq!(fitting((0, 0.0), (50, 60.0), 50.0), 50, "and none is taken back");
}
