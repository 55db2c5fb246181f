use lab::random;
use language_model::corpus::duplicates::{
    MINIMA, RUN, equal, first_of_each, shingles, signature, words,
};
use std::collections::BTreeSet;

/// A text of so many functions, with names by a seed.
fn functions(count: u64, seed: u64) -> String {
    let mut random = random::SplitMix64::new(seed);
    let mut text = String::new();
    for _ in 0..count {
        let [a, b, c] = [0; 3].map(|_| random.below(1000));
        text += &format!("fn f{a}(x: u{b}) -> u{b} {{\n    x.g{c}({a}) + {b}\n}}\n\n");
    }
    text
}

#[test]
fn equal_minima_estimate_the_jaccard_index() {
    for shared in [0, 20, 50, 80, 95] {
        let both = functions(shared, 1);
        let (one, two) =
            (both.clone() + &functions(100 - shared, 2), both + &functions(100 - shared, 3));
        let sets =
            [&one, &two].map(|text| shingles(text.as_bytes()).into_iter().collect::<BTreeSet<_>>());
        let union = sets[0].union(&sets[1]).count() as f64;
        let jaccard = sets[0].intersection(&sets[1]).count() as f64 / union;
        let [a, b] = [&one, &two].map(|text| signature(text.as_bytes()));
        let estimate = equal(&a, &b) as f64 / MINIMA as f64;
        assert!((jaccard - estimate).abs() < 0.16, "{shared}: {jaccard} against {estimate}");
    }
}

#[test]
fn copies_go_and_the_first_stays() {
    let text = functions(50, 1);
    let spaced = text.replace('\n', "\n\n    ");
    let renamed = text.replacen("fn f", "fn other", 2);
    let half = functions(25, 1) + &functions(25, 9);
    let other = functions(50, 2);
    let short = ["fn a() {}", "fn a()  {}", "fn b() {}"];
    let all = [&[&*text, &*other, &*spaced, &*renamed, &*half], &short[..]].concat();
    let all: Vec<&[u8]> = all.into_iter().map(str::as_bytes).collect();
    let wanted = [true, true, false, false, true, true, false, true];
    assert_eq!(first_of_each(&all), wanted);
    assert!(first_of_each(&[]).is_empty());
}

#[test]
fn any_bytes_have_shingles() {
    for text in [
        &b""[..],
        b" \n",
        b"\0\0\0",
        b"\xff\xfe\xfd",
        b"x",
        b"a b c d e f g h",
        "größe = 1".as_bytes(),
    ] {
        assert_eq!(signature(text), signature(&[b"  ", text, b"\n"].concat()), "{text:?}");
    }
    let line = vec![b'('; 2 << 20];
    assert_eq!(shingles(&line).len(), line.len() - RUN + 1);
    assert_eq!(words("fn größe_1(a)".as_bytes()).count(), 5);
}
