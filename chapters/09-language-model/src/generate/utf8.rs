//! Bytes as they come, text as soon as it is whole: a token may end in the middle of a character.

/// Bytes that may begin a character.
#[derive(Clone, Debug, Default)]
pub struct Utf8 {
    pending: Vec<u8>,
}

impl Utf8 {
    /// Takes more bytes and returns the text that is complete by now. Bytes that no character has become the replacement
    /// character (U+FFFD); the beginning of a character waits, three bytes at most.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut done = 0;
        for chunk in self.pending.utf8_chunks() {
            text += chunk.valid();
            done += chunk.valid().len();
            let wrong = chunk.invalid();
            // What the next bytes may complete waits for them.
            let waits = done + wrong.len() == self.pending.len()
                && str::from_utf8(wrong).is_err_and(|why| why.error_len().is_none());
            if !wrong.is_empty() && !waits {
                text.push(char::REPLACEMENT_CHARACTER);
                done += wrong.len();
            }
        }
        self.pending.drain(..done);
        text
    }

    /// What is left at the end: nothing, or one replacement character for a character that was never finished.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }
}
