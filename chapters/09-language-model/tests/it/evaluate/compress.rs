use lab::Error;
use lab::testing::{Tool, need};
use language_model::evaluate::compress::{gzip, xz, xz_by};

#[test]
fn repeated_text_takes_few_bits_and_noise_eight() {
    let noise: Vec<u8> = {
        let mut random = lab::random::SplitMix64::new(1);
        (0..50_000).map(|_| random.below(256) as u8).collect()
    };
    let text = b"fn main() {}\n".repeat(5000);
    let found = gzip([&text]).unwrap();
    assert_eq!(found.bytes, text.len());
    assert!(found.per_byte() < 0.1);
    assert!((gzip([&noise[..25_000], &noise[25_000..]]).unwrap().per_byte() - 8.0).abs() < 0.02);
    if let Some(found) = need(Tool::Xz, xz([&noise, &text])) {
        assert_eq!(found.bytes, noise.len() + text.len());
        assert!(found.bits / 8.0 > noise.len() as f64 && found.bits / 8.0 < 51_000.0);
    }
    let missing = xz_by("no-such-program", [&text]);
    assert!(matches!(missing, Err(Error::Skipped { .. })), "{missing:?}");
}
