use crate::measured::experiments::timeline::records;
use performance::measured::figures::timeline::figures;

#[test]
fn a_step_is_drawn_from_its_records() {
    let Some(records) = records() else { return };
    lab::testing::are_drawn(&figures(), &[], &records);
    let drawn = (figures()[0].draw)(&records).unwrap();
    assert!(drawn.alt.contains("product") || drawn.alt.contains("adam"), "{}", drawn.alt);
}
