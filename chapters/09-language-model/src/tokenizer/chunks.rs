//! The splitting rule: text is cut into chunks, and no token reaches across a cut.
//!
//! Without it, frequent neighbours such as `; let` would become tokens that mix the end of one thing with the start of the
//! next, and each change of a count would run through the whole text. GPT-2 cuts by a regular expression for English
//! (Radford et al. 2019). This rule is for Rust, and it is a loop over bytes. A chunk is the first of these that fits:
//!
//! 1. a **word**: letters and digits that begin with a letter, with the one space or sign before it: ` let`, `.iter`,
//!    `_mut`, `&self`. Bytes above 127 count as letters.
//! 2. a **number**: up to three digits.
//! 3. **signs** and the **end of the line**: an optional space, signs, and then the line breaks that follow with the next
//!    line's indentation: ` {` + newline + eight spaces, `;` + newline + eight spaces. Each depth can become one token.
//! 4. **space** alone; the last space before something belongs to what follows.
//!
//! No chunk is longer than [`LONGEST`] bytes: a line of two megabytes is cut, and costs no more than others.

/// The longest chunk in bytes.
pub const LONGEST: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Space,
    Break,
    Sign,
}

const CLASSES: [Class; 256] = {
    let (mut classes, mut byte) = ([Class::Sign; 256], 0);
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | 128.. => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' => Class::Space,
            b'\n' | b'\r' => Class::Break,
            _ => Class::Sign,
        };
        byte += 1;
    }
    classes
};

/// The chunks of these bytes: together they are the bytes.
pub fn chunks(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (chunk, rest) = bytes.split_at_checked(first(bytes))?;
        bytes = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// The length of the first chunk.
fn first(bytes: &[u8]) -> usize {
    use Class::{Break, Digit, Letter, Sign, Space};
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let class = |at: usize| bytes.get(at).map(|&byte| CLASSES[usize::from(byte)]);
    let run = |from: usize, classes: &[Class]| {
        let more = bytes[from.min(bytes.len())..].iter();
        from + more.take_while(|&&byte| classes.contains(&CLASSES[usize::from(byte)])).count()
    };
    // ANCHOR: rule
    match (class(0), class(1)) {
        (None, _) => 0,
        // ANCHOR_END: rule
        (Some(Letter), _) | (Some(Space | Sign), Some(Letter)) => run(1, &[Letter, Digit]),
        // ANCHOR: rule
        (Some(Digit), _) => run(1, &[Digit]).min(3),
        (Some(Break), _) => run(1, &[Break, Space]),
        (Some(Sign), _) | (Some(Space), Some(Sign)) => {
            let end = run(1, &[Sign]);
            if class(end) == Some(Break) { run(end, &[Break, Space]) } else { end }
        }
        (Some(Space), _) => match run(1, &[Space]) {
            1 => 1,
            end if class(end) == Some(Break) => run(end, &[Break, Space]),
            end => end - usize::from(end < bytes.len()),
        },
    }
    // ANCHOR_END: rule
}
