use lab::random::SplitMix64;
use language_model::generate::utf8::Utf8;

/// The bytes in pieces of random lengths.
fn in_pieces(bytes: &[u8], seed: u64) -> String {
    let (mut stream, mut random, mut text) =
        (Utf8::default(), SplitMix64::new(seed), String::new());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at((1 + random.below(4)).min(rest.len()));
        text += &stream.push(piece);
        rest = more;
    }
    text + &stream.finish()
}

#[test]
fn text_comes_whole_however_it_is_cut() {
    let text = "fn größe() -> &'static str { \"→ 日本 🦀\" }";
    let broken = [b"ab\xff\xe2\x82".as_slice(), text.as_bytes(), b"\xf0\x9f\xa6"].concat();
    for seed in 0..50 {
        assert_eq!(in_pieces(text.as_bytes(), seed), text);
        assert_eq!(in_pieces(&broken, seed), String::from_utf8_lossy(&broken));
    }
    let mut random = SplitMix64::new(1);
    for seed in 0..200 {
        let bytes: Vec<u8> = (0..40).map(|_| random.below(256) as u8).collect();
        assert_eq!(in_pieces(&bytes, seed), String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_character_waits_for_its_last_byte() {
    let mut stream = Utf8::default();
    let crab = "🦀".as_bytes();
    assert_eq!(stream.push(&crab[..3]), "");
    assert_eq!(stream.push(&crab[3..]), "🦀");
    assert_eq!(stream.push(b"a\xc3"), "a");
    assert_eq!(stream.finish(), "\u{fffd}");
    assert_eq!(stream.finish(), "");
}
