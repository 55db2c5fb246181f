use backprop::ladder::ladder;
use backprop::measured::experiments::{EPOCH, STEP_BOUND, THREADS, TOTAL};
use backprop::measured::figures::{BATCH, PARTS, figures, of, tables};
use lab::testing::{self, MadeUp};
use lab::{Chapter, Key};

#[test]
fn every_figure_and_table_is_made_from_records() {
    testing::are_drawn_in_the_book(&Chapter { tables: Vec::new(), ..backprop::chapter() });
    let rungs = ladder();
    let rungs = rungs.iter().map(|rung| (rung.key, rung.name));
    testing::has_rungs("03-backprop/fast-step.md", rungs);
}

#[test]
fn the_ladder_ends_at_the_roofline_of_its_parts() {
    let mut made = MadeUp::default();
    for (at, rung) in ladder().iter().enumerate() {
        made.add(of(EPOCH, rung, BATCH), 2.0 / (at + 1) as f64);
    }
    for part in PARTS {
        made.add(STEP_BOUND.at(&[("part", &part), ("batch", &BATCH)]), 5e-5);
    }
    let of_batch = |key: Key| key.at(&[("batch", &BATCH)]);
    made.add(of_batch(TOTAL), 8.0).add(of_batch(THREADS), 2.0);
    // Four parts of 50 µs, 1,875 times, on two cores: 0.1875 s, and the eighth rung takes 0.25 s.
    let ladder = (figures()[0].draw)(&made.records(&backprop::chapter())).unwrap();
    assert!(
        ladder.caption.contains("1.33 times") && ladder.alt.contains("2 cores: 0.188"),
        "{ladder:?}"
    );
}

#[test]
fn vgg16s_table_adds_up_to_its_parameters() {
    let table = (tables()[0].make)(&testing::unmeasured()).unwrap();
    assert!(table.caption.contains("138,357,544"), "{}", table.caption);
    assert_eq!(table.rows.len(), 13 + 5 + 3);
}
