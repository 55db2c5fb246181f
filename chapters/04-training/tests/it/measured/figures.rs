use lab::testing::{MadeUp, are_drawn};
use training::measured::experiments::studies::{MAP, MAP_BATCHES, RATES};

#[test]
fn the_map_is_drawn_and_reports_missing_records() {
    let mut made = MadeUp::default();
    for (batch, lr) in MAP_BATCHES.into_iter().flat_map(|b| RATES.map(|lr| (b, lr))) {
        made.add(MAP.at(&[("batch", &batch), ("lr", &lr), ("epochs", &3)]), 0.9 + lr);
    }
    let records = made.records(&training::chapter());
    let figures = training::measured::figures::figures();
    are_drawn(&figures, &[], &records);
    let caption = (figures[0].draw)(&records).unwrap().caption;
    assert!(caption.contains("after 3 epochs") && caption.contains("it is 0.1,"), "{caption}");
}
