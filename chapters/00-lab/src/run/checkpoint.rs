//! A run's whole state in one file.
//!
//! The file is written next to its place, flushed to the disk and renamed: at every moment there is one whole
//! checkpoint, whatever kills the program. Its layout:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `TPTRAIN4`; `TPGPT002` in one of a language model |
//! | 8 | length of the header, little-endian |
//! | … | the header, JSON, with a [`Journal`](crate::run::Journal) |
//! | … | weights, the optimizer's state and what else is an array: little-endian `f32`, as many as the header says |
//! | 32 | SHA-256 of all that is before |

use crate::{
    Error, Result,
    files::{open_regular, read_regular},
    run::files::{ALL, CHECKPOINT, METRICS},
};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    io::{BufReader, ErrorKind, Read},
    path::Path,
};

const DIGEST: usize = 32;

/// What a run trains, as the first bytes of its checkpoint say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model of digits.
    Digits,
    /// A language model.
    Text,
}

impl Kind {
    /// The first bytes of a checkpoint of this version.
    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Digits => b"TPTRAIN4",
            Self::Text => b"TPGPT002",
        }
    }

    /// The kind that the bytes of a checkpoint begin with, of whatever version.
    fn of(bytes: &[u8]) -> Option<Self> {
        [Self::Digits, Self::Text].into_iter().find(|kind| bytes.starts_with(&kind.magic()[..7]))
    }

    /// The kind of the run in a folder, if it has a checkpoint.
    pub fn of_run(folder: &Path) -> Option<Self> {
        let mut first = [0; 8];
        open_regular(&folder.join(CHECKPOINT)).ok()?.read_exact(&mut first).ok()?;
        Self::of(&first)
    }
}

/// When the run in a folder began, by its checkpoint, or by the first line of its metrics.
pub(super) fn started(folder: &Path) -> Option<String> {
    let began = |json: Value| json["started"].as_str().map(str::to_owned);
    let of_header = || {
        let mut file = open_regular(&folder.join(CHECKPOINT)).ok()?;
        let mut head = [[0; 8]; 2];
        file.read_exact(head.as_flattened_mut()).ok()?;
        Kind::of(&head[0])?;
        let header = BufReader::new(file.take(u64::from_le_bytes(head[1])));
        began(serde_json::from_reader(header).ok()?)
    };
    let of_metrics = || {
        let text = std::fs::read_to_string(folder.join(METRICS)).ok()?;
        began(serde_json::from_str(text.lines().next()?).ok()?)
    };
    of_header().or_else(of_metrics)
}

/// The bytes of a checkpoint: what a run is, and its values.
///
/// # Errors
/// None that a user can cause: the header is plain data.
pub fn pack<'v>(
    kind: Kind,
    header: &impl Serialize,
    values: impl IntoIterator<Item = &'v Vec<f32>>,
) -> Result<Vec<u8>> {
    let header = serde_json::to_vec(header)
        .map_err(|e| Error::Message(format!("the checkpoint can't be written: {e}")))?;
    let mut bytes = kind.magic().to_vec();
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header);
    for values in values {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
    let digest = Sha256::digest(&bytes);
    bytes.extend(digest);
    Ok(bytes)
}

/// What is wrong with bytes that are no whole checkpoint, and the way out.
pub const DAMAGED: &str =
    "it is damaged or cut short; start a new run in another folder with --run";

/// Header and values of a checkpoint's bytes.
///
/// # Errors
/// A clause that says what is wrong with them, for any bytes.
pub fn unpack<H: DeserializeOwned>(
    kind: Kind,
    bytes: &[u8],
) -> Result<(H, Vec<f32>), &'static str> {
    const VERSION: &str = "it was written by another version of this program; go on with that one, or start a new run in \
                           another folder with --run";
    let Some(rest) = bytes.strip_prefix(kind.magic()) else {
        return Err(match Kind::of(bytes) {
            Some(same) if same == kind => VERSION,
            Some(Kind::Text) => {
                "this run is a language model's; leave out --model to go on with it"
            }
            Some(Kind::Digits) => {
                "this run's model is for digits; leave out --model to go on with it"
            }
            None => "it is not a checkpoint; start a new run in another folder with --run",
        });
    };
    let whole = bytes.len().checked_sub(DIGEST).ok_or(DAMAGED)?;
    if Sha256::digest(&bytes[..whole])[..] != bytes[whole..] {
        return Err(DAMAGED);
    }
    let body = rest.get(..rest.len() - DIGEST).ok_or(DAMAGED)?;
    let (length, body) = body.split_first_chunk::<8>().ok_or(DAMAGED)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| DAMAGED)?;
    let (header, values) = body.split_at_checked(length).ok_or(DAMAGED)?;
    let header = serde_json::from_slice(header).map_err(|_| VERSION)?;
    let (values, odd) = values.as_chunks::<4>();
    if !odd.is_empty() {
        return Err(DAMAGED);
    }
    Ok((header, values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
}

/// The bytes of the checkpoint in a run's folder.
///
/// # Errors
/// [`Error::Damaged`] if there is none or it can't be read.
fn bytes(folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join(CHECKPOINT);
    read_regular(&path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => missing(folder),
        _ => Error::damaged(&path, format!("it can't be read ({e})")),
    })
}

/// What `of` makes of the checkpoint in a run's folder.
///
/// # Errors
/// [`Error::Damaged`] if there is none, or `of` says why it is none.
pub fn read<T>(folder: &Path, of: impl FnOnce(&[u8]) -> Result<T, &'static str>) -> Result<T> {
    of(&bytes(folder)?).map_err(|why| Error::damaged(&folder.join(CHECKPOINT), why))
}

/// The kind of the run in a folder, whose checkpoint is whole.
///
/// # Errors
/// [`Error::Damaged`] if there is none or it is not whole.
pub fn whole(folder: &Path) -> Result<Kind> {
    read(folder, |bytes| {
        let kind = Kind::of(bytes).unwrap_or(Kind::Digits);
        unpack::<IgnoredAny>(kind, bytes).map(|_| kind)
    })
}

/// The message for a folder without a checkpoint. A new run replaces it if it contains no results.
pub(super) fn missing(folder: &Path) -> Error {
    let way = if ALL.iter().any(|name| folder.join(name).exists()) {
        "start a new run in another folder with --run"
    } else {
        "leave out --resume to start a new run"
    };
    let why = format!("there is no checkpoint to go on from; {way}");
    Error::damaged(&folder.join(CHECKPOINT), why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const STARTED: &str = "2025-01-01T00:00:00Z";

    fn packed(kind: Kind) -> Vec<u8> {
        let values = [vec![1.0, -0.0], vec![f32::MIN_POSITIVE / 8.0]];
        pack(kind, &(0.1 + 0.2, STARTED), &values).unwrap()
    }

    #[test]
    fn it_comes_back_bit_for_bit_and_no_changed_byte_or_cut_does() {
        for kind in [Kind::Digits, Kind::Text] {
            let whole = packed(kind);
            let read = |bytes: &[u8]| unpack::<(f64, String)>(kind, bytes);
            let (header, values) = read(&whole).unwrap();
            assert_eq!(header, (0.1 + 0.2, STARTED.to_owned()));
            let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
            assert_eq!(bits, [1.0, -0.0, f32::MIN_POSITIVE / 8.0].map(f32::to_bits));
            for at in 0..whole.len() {
                let mut bad = whole.clone();
                bad[at] ^= 0x10;
                assert!(read(&bad).is_err(), "byte {at}");
                assert!(read(&whole[..at]).is_err(), "cut at {at}");
            }
            assert!(read(&[&whole[..], &[0]].concat()).is_err());
            // A true check sum over nonsense.
            for body in [&b""[..], &[0xff; 8], b"\x02\0\0\0\0\0\0\0{}abc"] {
                let bytes = [&kind.magic()[..], body].concat();
                assert!(read(&[&bytes[..], &Sha256::digest(&bytes)].concat()).is_err(), "{body:?}");
            }
        }
    }

    #[test]
    fn foreign_and_missing_files_get_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, file) = (folder.path(), folder.path().join(CHECKPOINT));
        let said = |kind| {
            let read = read(folder, |bytes| unpack::<IgnoredAny>(kind, bytes).map(|_| ()));
            read.map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        assert!(said(Kind::Text).contains("no checkpoint to go on from"));
        fs::create_dir(&file).unwrap();
        assert!(said(Kind::Text).contains("not a regular file"));
        fs::remove_dir(&file).unwrap();
        let wholes = [Kind::Digits, Kind::Text].map(packed);
        let [digits, text] = &wholes;
        let other = "; leave out --model to go on with it";
        for (bytes, of_digits, of_text) in [
            (&b""[..], "it is not a checkpoint", "it is not a checkpoint"),
            (b"PK\x03\x04", "it is not a checkpoint", "it is not a checkpoint"),
            (b"TPTRAIN9 the future", "another version", other),
            (b"TPGPT001 the past", other, "another version"),
            (&digits[..digits.len() / 2], "damaged or cut short", "is for digits"),
            (&text[..9], "is a language model's", "damaged or cut short"),
            (digits, other, other),
        ] {
            fs::write(&file, bytes).unwrap();
            for (kind, wanted) in [(Kind::Digits, of_digits), (Kind::Text, of_text)] {
                let fits = Kind::of_run(folder) == Some(kind) && whole(folder).is_ok();
                let said = said(kind);
                assert!(said.contains(wanted) != fits, "{kind:?}: {said}, not {wanted}");
            }
        }
        assert_eq!(whole(folder).unwrap(), Kind::Digits);
    }
}
