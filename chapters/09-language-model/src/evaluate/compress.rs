//! What general compressors need for a text.

use super::Bits;
use flate2::{Compression, write::GzEncoder};
use lab::{Error, Result, probe::tied};
use std::{
    io::{self, Write},
    process::{Command, Stdio},
    thread,
};

/// Counts what it is given.
#[derive(Default)]
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The texts, one after the other, by flate2 at level 9: gzip's format and its best effort (`gzip -9` itself may differ in the
/// last percent).
///
/// # Errors
/// None that a counter can cause.
pub fn gzip(texts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Bits> {
    let failed = |error: io::Error| Error::message(format!("gzip: {error}"));
    let mut encoder = GzEncoder::new(Count::default(), Compression::best());
    let mut bytes = 0;
    for text in texts {
        bytes += text.as_ref().len();
        encoder.write_all(text.as_ref()).map_err(failed)?;
    }
    let packed = encoder.finish().map_err(failed)?.0;
    Ok(Bits { bits: 8.0 * packed as f64, bytes, tokens: 0 })
}

/// The texts by the program `xz -9`, if there is one: a pure Rust encoder would be a dependency for this one number.
///
/// # Errors
/// [`Error::Skipped`] if the program is not there or fails.
pub fn xz(texts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Bits> {
    xz_by("xz", texts)
}

/// [`xz`] by another name of the program.
///
/// # Errors
/// As [`xz`].
pub fn xz_by(program: &str, texts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Bits> {
    let failed = |error: io::Error| Error::Skipped {
        what: "xz".to_owned(),
        why: format!("the program xz can't be run ({error}); install xz-utils"),
    };
    let mut all = Vec::new();
    texts.into_iter().for_each(|text| all.extend_from_slice(text.as_ref()));
    let bytes = all.len();
    let mut child = tied(&mut Command::new(program))
        .args(["-9", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    // Two pipes, two threads: either may fill up.
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let writer = thread::spawn(move || input.map_or(Ok(()), |mut to| to.write_all(&all)));
    let mut packed = Count::default();
    if let Some(mut from) = output {
        io::copy(&mut from, &mut packed).map_err(failed)?;
    }
    let written = writer.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
    let status = child.wait().map_err(failed)?;
    if !status.success() {
        return Err(failed(written.err().unwrap_or_else(|| io::Error::other(status.to_string()))));
    }
    Ok(Bits { bits: 8.0 * packed.0 as f64, bytes, tokens: 0 })
}
