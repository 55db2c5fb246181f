use lab::random::SplitMix64;
use language_model::evaluate::copies::{Copies, MOST, copies};

/// The longest common part, by trying all.
fn slowly(one: &[u8], others: &[Vec<u8>]) -> usize {
    let inside = |part: &[u8]| {
        others.iter().any(|other| other.windows(part.len()).any(|window| window == part))
    };
    let mut longest = 0;
    for from in 0..one.len() {
        while from + longest < one.len() && inside(&one[from..=from + longest]) {
            longest += 1;
        }
    }
    longest
}

#[test]
fn it_is_the_longest_common_part() {
    let mut random = SplitMix64::new(4);
    for letters in [1, 2, 3, 8] {
        for _ in 0..30 {
            let mut text = |most| -> Vec<u8> {
                let len = random.below(most);
                (0..len).map(|_| b'a' + random.below(letters) as u8).collect()
            };
            let written: Vec<Vec<u8>> = (0..4).map(|_| text(40)).collect();
            let training: Vec<Vec<u8>> = (0..3).map(|_| text(120)).collect();
            let found = copies(&written, &training).unwrap();
            let wanted: Vec<usize> = written.iter().map(|w| slowly(w, &training)).collect();
            assert_eq!(found.lengths, wanted, "{written:?} {training:?}");
            let longest = wanted.iter().max().copied().unwrap_or(0);
            assert_eq!(found.longest.len(), longest);
            if longest > 0 {
                let source = &training[found.source];
                assert!(source.windows(longest).any(|w| w == found.longest));
                assert!(written.iter().any(|w| w.windows(longest).any(|w| w == found.longest)));
            }
        }
    }
}

#[test]
fn a_copy_does_not_run_from_one_text_into_the_next() {
    let found = copies(&["abc", "def"], ["xabcdefx"]).unwrap();
    assert_eq!((found.lengths, found.longest), (vec![3, 3], b"abc".to_vec()));
    let found = copies(&["abcdef"], ["abc", "def", "bcde"]).unwrap();
    assert_eq!((found.lengths, found.source), (vec![4], 2));
    let none: [&str; 0] = [];
    assert_eq!(copies(&none, ["a"]).unwrap(), Copies::default());
    assert_eq!(copies(&["", "\u{0}"], none).unwrap().lengths, [0, 0]);
    assert!(copies(&[vec![0; MOST]], none).is_err());
}
