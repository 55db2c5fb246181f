use language_model::corpus::split::{PART, family, validation};
use std::collections::BTreeSet;

#[test]
fn a_family_is_the_first_word() {
    for (name, first) in [
        ("serde", "serde"),
        ("serde_derive", "serde"),
        ("futures-util", "futures"),
        ("01-matmul.exercises", "01-matmul"),
        ("01-matmul", "01-matmul"),
        ("", ""),
    ] {
        assert_eq!(family(name), first, "{name}");
    }
}

#[test]
fn about_a_twentieth_is_set_aside_whatever_the_order() {
    let names: Vec<String> = (0..200).map(|n| format!("crate{n}-{}", n % 7)).collect();
    let sized: Vec<(&str, u64)> =
        names.iter().zip(1..).map(|(n, i)| (n.as_str(), 100 + i)).collect();
    let aside = validation(sized.iter().copied());
    let bytes = |of: &BTreeSet<String>| -> u64 {
        sized.iter().filter(|(name, _)| of.contains(family(name))).map(|(_, bytes)| bytes).sum()
    };
    let all: u64 = sized.iter().map(|(_, bytes)| bytes).sum();
    assert!(bytes(&aside) * 21 >= all && bytes(&aside) * PART <= all, "{aside:?}");
    assert_eq!(aside, validation(sized.iter().rev().copied()));
}

#[test]
fn two_families_are_enough_and_one_is_not() {
    assert_eq!(validation([("a", 5), ("b", 9)].into_iter()), BTreeSet::from(["a".to_owned()]));
    assert!(validation([("a-x", 5), ("a-y", 9)].into_iter()).is_empty());
    assert!(validation([].into_iter()).is_empty());
}
