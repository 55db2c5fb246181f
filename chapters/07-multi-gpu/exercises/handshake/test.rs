//! The test of the exercise `handshake`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Card, refused};

const RANK: &str = "another value is named with its rank";
const FIRST: &str = "the first setting by name is the one that is said";
const LACKS: &str = "a setting that one side lacks is a difference";

fn card(settings: &[(&str, &str)]) -> Card {
    settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What is said to ranks with these settings.
fn said(cards: &[&[(&str, &str)]]) -> Option<String> {
    refused(&cards.iter().map(|settings| card(settings)).collect::<Vec<_>>())
}

#[test]
fn who_differs_is_named() {
    let [mine, other] = ["0.001", "0.01"].map(|lr| [("batch", "128"), ("lr", lr)]);
    let zero = [("seed", "0"), ("batch", "128"), ("lr", "1")];
    let one = [("seed", "1"), ("batch", "64"), ("lr", "2")];
    let (some, more) = ([("lr", "1")], [("lr", "1"), ("decay", "0.1")]);
    let four: [&[_]; 4] = [&mine, &mine, &other, &other];
    for (law, found, wanted) in [
        ("equal ranks are let in", said(&[&mine[..]; 3]), None),
        ("one rank is let in", said(&[&[]]), None),
        ("no rank is let in", said(&[]), None),
        (RANK, said(&four), Some("rank 2 has lr 0.01, and rank 0 has 0.001")),
        (FIRST, said(&[&zero, &one]), Some("rank 1 has batch 64, and rank 0 has 128")),
        (LACKS, said(&[&some, &more]), Some("rank 1 has decay 0.1, and rank 0 has nothing")),
        (LACKS, said(&[&more, &some]), Some("rank 1 has decay nothing, and rank 0 has 0.1")),
    ] {
        assert_eq!(found.as_deref(), wanted, "{law}");
    }
}
