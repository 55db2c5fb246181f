//! The test of the exercise `longest-copy`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Shared, longest};
use lab::random::SplitMix64;

/// What is found must be in both, and as long as it can be.
#[track_caller]
fn is(sample: &[u8], text: &[u8], wanted: usize, what: &str) {
    let found = longest(sample, text);
    let Shared { sample: s, text: t, len } = found;
    let [own, other] = [(sample, s), (text, t)].map(|(of, at)| of.get(at..at.saturating_add(len)));
    assert!(own.is_some(), "{what}: {found:?} ends behind the sample's {} bytes", sample.len());
    assert!(other.is_some(), "{what}: {found:?} ends behind the text's {} bytes", text.len());
    assert!(own == other, "{what}: {found:?}, but there the bytes are not equal");
    assert!(len == wanted, "{what}: the longest copy has {wanted} bytes, and not {len}");
}

/// The longest common part by comparing everything.
fn slowly(sample: &[u8], text: &[u8]) -> usize {
    let mut longest = 0;
    // The length of the common part that ends here and at each byte of the text.
    let mut row = vec![0; text.len() + 1];
    for a in sample {
        for at in (0..text.len()).rev() {
            row[at + 1] = if *a == text[at] { row[at] + 1 } else { 0 };
            longest = longest.max(row[at + 1]);
        }
    }
    longest
}

fn letters(random: &mut SplitMix64, len: usize, of: usize) -> Vec<u8> {
    (0..len).map(|_| b'a' + random.below(of) as u8).collect()
}

#[test]
fn a_copy_may_stand_anywhere_in_both_and_the_edges_are_right() {
    is(b"fn main() {}", b"pub fn main() { run() }", 11, "`fn main() {`");
    is(b"xxlet x = 1;", b"let x = 1;yyyy", 10, "at the end of one and the beginning of the other");
    is(b"abcabd", b"zabdz", 3, "a longer copy after a shorter one that begins in the same way");
    is(b"", b"text", 0, "an empty sample");
    is(b"sample", b"", 0, "an empty text");
    is(b"", b"", 0, "nothing");
    is(b"abc", b"xyz", 0, "no byte in common");
    is(b"q", b"xyzq", 1, "one byte");
    is(b"all of it", b"all of it", 9, "the same text twice");
    is(&[0; 5], &[1, 0, 0, 0, 2, 0], 3, "bytes of 0, which are digits too");
    is(&[255, 0, 255], &[7, 255, 0, 255, 7], 3, "any bytes, and not only letters");
}

#[test]
fn as_long_as_by_comparing_everything() {
    let mut random = SplitMix64::new(7);
    for round in 0..300 {
        let of = 1 + round % 4;
        let lengths = [random.below(60), random.below(200)];
        let [sample, text] = lengths.map(|len| letters(&mut random, len, of));
        let what = format!("{} bytes in {} bytes of {of} letters", sample.len(), text.len());
        is(&sample, &text, slowly(&sample, &text), &what);
    }
}

#[test]
fn a_hash_is_no_proof() {
    // The sequence of Thue and Morse and its complement: for 2¹¹ letters and more, a polynomial modulo 2⁶⁴ is the same for
    // both, whatever its base.
    let letter = |at: usize, swap: u32| b'a' + ((at.count_ones() + swap) % 2) as u8;
    let part = |swap| -> Vec<u8> { (0..4096).map(|at| letter(at, swap)).collect() };
    let (one, other) = (part(0), part(1));
    is(&one, &other, slowly(&one, &other), "Thue and Morse's sequence in its complement");
}

#[test]
fn a_long_text_takes_no_longer_than_it_must() {
    let mut random = SplitMix64::new(11);
    let mut text = letters(&mut random, 1_000_000, 20);
    let mut sample = letters(&mut random, 100_000, 20);
    let copied = 3210;
    sample[77_000..77_000 + copied].copy_from_slice(&text[555_000..555_000 + copied]);
    // The neighbours differ, so that the copy is not longer by chance.
    (sample[76_999], sample[77_000 + copied]) = (b'!', b'!');
    is(&sample, &text, copied, "a copy in a text of a million bytes");
    text.fill(b'a');
    is(&vec![b'a'; 100_000], &text, 100_000, "one letter, again and again");
}
