//! The test of the exercise `handshake`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Card, refused};

fn card(settings: &[(&str, &str)]) -> Card {
    settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn equal_ranks_are_let_in() {
    let mine = card(&[("batch", "128"), ("lr", "0.001")]);
    assert_eq!(refused(&[mine.clone(), mine.clone(), mine]), None);
    assert_eq!(refused(&[card(&[])]), None);
    assert_eq!(refused(&[]), None);
}

#[test]
fn another_value_is_named_with_its_rank() {
    let mine = card(&[("batch", "128"), ("lr", "0.001")]);
    let other = card(&[("batch", "128"), ("lr", "0.01")]);
    let said = refused(&[mine.clone(), mine, other.clone(), other]).expect("rank 2 differs");
    assert_eq!(said, "rank 2 has lr 0.01, and rank 0 has 0.001");
}

#[test]
fn the_first_setting_by_name_is_the_one_that_is_said() {
    let mine = card(&[("seed", "0"), ("batch", "128"), ("lr", "1")]);
    let other = card(&[("seed", "1"), ("batch", "64"), ("lr", "2")]);
    let said = refused(&[mine, other]).expect("rank 1 differs");
    assert_eq!(said, "rank 1 has batch 64, and rank 0 has 128");
}

#[test]
fn a_setting_that_one_side_lacks_is_a_difference() {
    let (some, more) = (card(&[("lr", "1")]), card(&[("lr", "1"), ("decay", "0.1")]));
    let said = refused(&[some.clone(), more.clone()]).expect("rank 1 has one more");
    assert_eq!(said, "rank 1 has decay 0.1, and rank 0 has nothing");
    let said = refused(&[more, some]).expect("rank 1 has one less");
    assert_eq!(said, "rank 1 has decay nothing, and rank 0 has 0.1");
}
