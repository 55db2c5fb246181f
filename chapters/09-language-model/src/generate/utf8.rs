//! Bytes as they come, text as soon as it is whole: a token may end in the middle of a character.

/// Bytes that may begin a character.
#[derive(Clone, Debug, Default)]
pub struct Utf8 {
    pending: Vec<u8>,
}

impl Utf8 {
    /// Takes more bytes and returns the text that is complete by now. Bytes that no character has become the replacement
    /// character (U+FFFD); the beginning of a character waits, three bytes at most.
    // ANCHOR: push
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut done = 0;
        while done < self.pending.len() {
            let rest = &self.pending[done..];
            match str::from_utf8(rest) {
                Ok(valid) => {
                    text += valid;
                    done += rest.len();
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    text += &String::from_utf8_lossy(&rest[..valid]);
                    done += valid;
                    let Some(wrong) = error.error_len() else { break };
                    text.push(char::REPLACEMENT_CHARACTER);
                    done += wrong;
                }
            }
        }
        self.pending.drain(..done);
        text
    }
    // ANCHOR_END: push

    /// What is left at the end: nothing, or one replacement character for a character that was never finished.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::random::SplitMix64;

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
}
