//! Event files: a run's curves as TensorBoard reads them.
//!
//! A file is a row of records, each a length, the bytes and two check sums (`TFRecord`, see TensorFlow's
//! `record_writer.cc`). The bytes are an `Event` in protobuf's wire format (TensorFlow's `event.proto` and
//! `summary.proto`), which needs a few lines for the few fields that are used here. TensorBoard reads all
//! event files of a folder in the order of their names and skips a record that is cut off at the end, so a
//! killed run does no harm. A run that goes on begins with a file of all its points until then, from its
//! checkpoint, and removes the one before.

use crate::{
    Error, Result,
    files::inside,
    run::{
        disk::{self, File},
        files::not_written,
        journal::Event,
    },
};
use crc::{CRC_32_ISCSI, Crc};
use std::{
    io::Write,
    path::{Path, PathBuf},
};

/// How the name of every event file begins.
const PREFIX: &str = "events.out.tfevents.";

/// An open event file. Every record is handed to the system at once: a killed program loses none.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    file: File,
}

impl EventFile {
    /// Makes a folder's event file, with the points of a run so far, in place of those that are there; younger by name than
    /// they are. `seconds` is the time since 1970.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file can't be written.
    pub fn create(folder: &Path, seconds: f64, events: &[Event]) -> Result<Self> {
        // Also where the clock was set back, or two runs began within a second.
        let old = files(folder);
        let youngest = old.iter().filter_map(|path| second(path)).max();
        let second = youngest.map_or(0, |second| second + 1).max(seconds as u64);
        let name = format!("{PREFIX}{second:010}.{}", std::process::id());
        let path = folder.join(name);
        let file = File::create_new(&path).map_err(|e| not_written(&path, &e))?;
        let start = varint_field(1, 1); // SessionLog.status = START: what was read of older files is void
        let head = [field(3, b"brain.Event:2"), field(7, &start)];
        let head = head.iter().flat_map(|what| record(&event(seconds, 0, what)));
        let mut made = Self { path, file };
        made.write(&head.chain(log(events)).collect::<Vec<u8>>())?;
        for path in &old {
            disk::remove_file(path).map_err(|e| Error::io(path, e))?;
        }
        Ok(made)
    }

    /// Adds points.
    ///
    /// # Errors
    /// [`Error::Damaged`] if they can't be written.
    pub fn add(&mut self, points: &Event) -> Result<()> {
        self.write(&log(std::slice::from_ref(points)))
    }

    /// Hands all records to the system in one call.
    fn write(&mut self, records: &[u8]) -> Result<()> {
        self.file.write_all(records).map_err(|e| not_written(&self.path, &e))
    }
}

/// The records of points.
pub fn log(events: &[Event]) -> Vec<u8> {
    let mut records = Vec::new();
    for Event { step, time, points } in events {
        for (tag, value) in points {
            let mut point = field(1, tag.as_bytes()); // Value.tag
            point.push(2 << 3 | FIXED32); // Value.simple_value
            point.extend((*value as f32).to_le_bytes());
            let summary = field(1, &point); // Summary.value
            records.extend(record(&event(*time, *step, &field(5, &summary))));
        }
    }
    records
}

/// An `Event`: its time, its step and one further field.
fn event(seconds: f64, step: u64, what: &[u8]) -> Vec<u8> {
    let mut event = vec![1 << 3 | FIXED64]; // Event.wall_time
    event.extend(seconds.to_le_bytes());
    event.extend(varint_field(2, step)); // Event.step
    event.extend(what);
    event
}

/// A folder's event files, the oldest first.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths = inside(folder);
    paths.retain(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(PREFIX)));
    paths
}

/// The time in an event file's name.
fn second(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split('.').next()?.parse().ok()
}

/// The bytes of a record: length, its check sum, data, its check sum.
fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let sum = |bytes| masked(CRC32C.checksum(bytes)).to_le_bytes();
    [&length, &sum(&length)[..], data, &sum(data)].concat()
}

/// A check sum that may be summed again: data that holds its own sum is a weak
/// case for a CRC (TensorFlow's `crc32c.h`).
fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

// Protobuf's wire types: how many bytes follow a field's number.
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;
const FIXED32: u8 = 5;

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A number in the field `number`, which is below 16.
fn varint_field(number: u8, value: u64) -> Vec<u8> {
    [&[number << 3 | VARINT][..], &varint(value)].concat()
}

/// A text or a message in the field `number`, which is below 16.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | BYTES][..], &varint(bytes.len() as u64), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// An event by hand, after `event.proto` and `summary.proto`: its time, its step as a varint, and what follows.
    fn by_hand(time: f64, step: &[u8], rest: &[u8]) -> Vec<u8> {
        record(&[b"\x09", &time.to_le_bytes()[..], b"\x10", step, rest].concat())
    }

    #[test]
    fn check_sums_are_the_known_ones() {
        // RFC 3720, B.4: 32 bytes of zeros; and the check value of the CRC catalogue.
        assert_eq!(CRC32C.checksum(&[0; 32]), 0x8a91_36aa);
        assert_eq!(CRC32C.checksum(b"123456789"), 0xe306_9283);
        // The first twelve bytes of every event file that TensorFlow's own writer begins: the length 24.
        let head = [0x18, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22];
        assert_eq!(record(&[0; 24])[..12], head);
    }

    fn points(step: u64, time: f64, tag: &str, value: f64) -> Event {
        Event { step, time, points: vec![(tag.to_owned(), value)] }
    }

    #[test]
    fn what_is_written_is_what_the_protocol_says() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = EventFile::create(folder.path(), 1.7e9, &[]).unwrap();
        let head = |time| {
            let version = by_hand(time, b"\0", b"\x1a\x0dbrain.Event:2");
            [version, by_hand(time, b"\0", b"\x3a\x02\x08\x01")].concat()
        };
        assert_eq!(fs::read(&file.path).unwrap(), head(1.7e9));
        let long = "a".repeat(200); // lengths of two bytes
        let events = [
            points(300, 1.7e9 + 0.5, "loss/step", 0.25),
            points(u64::from(u32::MAX) + 1, 1.7e9 + 1.0, &long, -1e9),
            points(0, 0.0, "broken", f64::NAN),
        ];
        for event in &events {
            file.add(event).unwrap();
        }
        let step = b"\x2a\x12\x0a\x10\x0a\x09loss/step\x15\x00\x00\x80\x3e";
        let lengths = b"\x2a\xd3\x01\x0a\xd0\x01\x0a\xc8\x01";
        let long = [&lengths[..], long.as_bytes(), b"\x15\x28\x6b\x6e\xce"].concat();
        let broken = b"\x2a\x0f\x0a\x0d\x0a\x06broken\x15\x00\x00\xc0\x7f";
        let wanted = [
            by_hand(1.7e9 + 0.5, b"\xac\x02", step),
            by_hand(1.7e9 + 1.0, b"\x80\x80\x80\x80\x10", &long),
            by_hand(0.0, b"\0", broken),
        ]
        .concat();
        assert_eq!(fs::read(&file.path).unwrap(), [head(1.7e9), wanted.clone()].concat());
        // A run that goes on has all of them in one file, which is younger by name, whatever the clock says.
        let next = EventFile::create(folder.path(), 5.0, &events).unwrap();
        assert_eq!(files(folder.path()), std::slice::from_ref(&next.path));
        assert_eq!(second(&next.path), Some(1_700_000_001));
        assert_eq!(fs::read(&next.path).unwrap(), [head(5.0), wanted].concat());
    }
}
