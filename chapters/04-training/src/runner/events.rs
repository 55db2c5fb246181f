//! Event files: a run's curves as TensorBoard reads them.
//!
//! A file is a row of records, each a length, the bytes and two check sums (`TFRecord`, see TensorFlow's
//! `record_writer.cc`). The bytes are an `Event` in protobuf's wire format (TensorFlow's `event.proto` and
//! `summary.proto`), which needs a few lines for the few fields that are used here. TensorBoard reads all
//! event files of a folder in the order of their names and skips a record that is cut off at the end, so a
//! killed run does no harm. A run that goes on begins with a file of all its points until then, from its
//! checkpoint, and removes the one before.

use crate::{
    Result,
    learning::journal::Event,
    runner::{
        disk::{self, File},
        files::not_written,
    },
};
use crc::{CRC_32_ISCSI, Crc};
use std::{
    env, fs,
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
    /// [`crate::Error::Damaged`] if the file can't be written.
    pub fn create(folder: &Path, seconds: f64, events: &[Event]) -> Result<Self> {
        // Also where the clock was set back, or two runs began within a second.
        let old = files(folder);
        let youngest = old.iter().filter_map(|path| second(path)).max();
        let second = youngest.map_or(0, |second| second + 1).max(seconds as u64);
        let name = format!("{PREFIX}{second:010}.{}.{}", host(), std::process::id());
        let path = folder.join(name);
        let file = File::create_new(&path).map_err(|e| not_written(&path, &e))?;
        let start = varint_field(1, 1); // SessionLog.status = START: what was read of older files is void
        let head = [field(3, b"brain.Event:2"), field(7, &start)];
        let head = head.iter().flat_map(|what| record(&event(seconds, 0, what)));
        let mut made = Self { path, file };
        made.write(&head.chain(log(events)).collect::<Vec<u8>>())?;
        for path in &old {
            disk::remove_file(path).map_err(|e| lab::Error::io(path, e))?;
        }
        Ok(made)
    }

    /// Adds points.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if they can't be written.
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
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The time in an event file's name.
fn second(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split('.').next()?.parse().ok()
}

/// This machine's name, as far as it fits into a file's.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| env::var("HOSTNAME"))
        .or_else(|_| env::var("COMPUTERNAME"))
        .unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    let name: String = name.trim().chars().filter(plain).take(64).collect();
    if name.is_empty() { "host".into() } else { name }
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
    use crate::{Config, Silent, Start, train_on};
    use lab::data;

    /// What an event says.
    #[derive(Clone, Debug, PartialEq)]
    enum What {
        Version(String),
        Start,
        Point(String, f32),
    }

    /// Takes `n` bytes off the front.
    fn take<'b>(bytes: &mut &'b [u8], n: usize) -> &'b [u8] {
        bytes.split_off(..n).expect("a record is cut off")
    }

    /// The fields of a message: number and bytes, a number's being its eight.
    fn fields(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        fn number(bytes: &mut &[u8]) -> u64 {
            let mut value = 0;
            for shift in (0..).step_by(7) {
                let byte = take(bytes, 1)[0];
                value |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            value
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = number(&mut bytes);
            let value = match key & 7 {
                0 => number(&mut bytes).to_le_bytes().to_vec(),
                1 => take(&mut bytes, 8).to_vec(),
                2 => {
                    let length = number(&mut bytes) as usize;
                    take(&mut bytes, length).to_vec()
                }
                5 => take(&mut bytes, 4).to_vec(),
                other => panic!("wire type {other}"),
            };
            fields.push(((key >> 3) as u8, value));
        }
        fields
    }

    /// Time, step and content of each event of a file, its check sums tested.
    fn read(path: &Path) -> Vec<(f64, u64, What)> {
        let bytes = fs::read(path).unwrap();
        let mut rest = &bytes[..];
        let mut events = Vec::new();
        while !rest.is_empty() {
            let checked = |rest: &mut &[u8], n| {
                let data = take(rest, n).to_vec();
                let sum = masked(CRC32C.checksum(&data)).to_le_bytes();
                assert_eq!(take(rest, 4), sum);
                data
            };
            let length = u64::from_le_bytes(checked(&mut rest, 8).try_into().unwrap());
            let event = fields(&checked(&mut rest, length as usize));
            let [(1, time), (2, step), (kind, what)] = &event[..] else { panic!("{event:?}") };
            let what = match kind {
                3 => What::Version(String::from_utf8(what.clone()).unwrap()),
                5 => {
                    let [(1, point)] = &fields(what)[..] else { panic!("{what:?}") };
                    let [(1, tag), (2, value)] = &fields(point)[..] else { panic!("{point:?}") };
                    let value = f32::from_le_bytes(value[..].try_into().unwrap());
                    What::Point(String::from_utf8(tag.clone()).unwrap(), value)
                }
                7 => {
                    assert_eq!(fields(what), [(1, 1u64.to_le_bytes().to_vec())]);
                    What::Start
                }
                other => panic!("field {other}"),
            };
            let eight = |bytes: &Vec<u8>| bytes[..].try_into().unwrap();
            events.push((f64::from_le_bytes(eight(time)), u64::from_le_bytes(eight(step)), what));
        }
        events
    }

    fn version() -> What {
        What::Version("brain.Event:2".into())
    }

    fn point(tag: &str, value: f32) -> What {
        What::Point(tag.into(), value)
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
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = EventFile::create(folder.path(), 1.7e9, &[]).unwrap();
        let head = [(1.7e9, 0, version()), (1.7e9, 0, What::Start)];
        assert_eq!(read(&file.path), head);
        let long = "a".repeat(200); // lengths of two bytes
        let events = [
            points(300, 1.7e9 + 0.5, "loss/step", 0.25),
            points(u64::from(u32::MAX) + 1, 1.7e9 + 1.0, &long, -1e9),
        ];
        for event in &events {
            file.add(event).unwrap();
        }
        file.add(&points(0, 0.0, "broken", f64::NAN)).unwrap();
        let mut found = read(&file.path);
        let (time, step, broken) = found.pop().unwrap();
        assert_eq!((time, step), (0.0, 0));
        assert!(matches!(broken, What::Point(tag, value) if tag == "broken" && value.is_nan()));
        let wanted = [
            (1.7e9 + 0.5, 300, point("loss/step", 0.25)),
            (1.7e9 + 1.0, 1 << 32, point(&long, -1e9)),
        ];
        assert_eq!(found, [&head[..], &wanted].concat());
        // A run that goes on has all of them in one file, which is younger by name, whatever the clock says.
        let next = EventFile::create(folder.path(), 5.0, &events).unwrap();
        assert_eq!(files(folder.path()), std::slice::from_ref(&next.path));
        assert_eq!(second(&next.path), Some(1_700_000_001));
        assert_eq!(read(&next.path)[2..], wanted);
    }

    #[test]
    fn a_run_and_its_second_part_leave_their_curves() {
        /// Stops after this many steps.
        struct StopAfter(usize);
        impl crate::Watcher for StopAfter {
            fn stop(&mut self) -> bool {
                self.0 -= 1;
                self.0 == 0
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let data = data::drawn(160, 20, 1);
        let settings = crate::Settings { epochs: 2, batch: 10, ..Default::default() };
        let mut config = Config { settings, run: Some(run.clone()), ..Config::default() };
        let first = train_on(&config, &data, &mut StopAfter(21)).unwrap(); // an epoch has 16
        assert_eq!(first.stopped, Some((2, 5)));
        config.start = Start::Resume;
        let whole = train_on(&config, &data, &mut Silent).unwrap();

        let [file] = &files(&run)[..] else { panic!("one event file") };
        let ends = |at: u64, epoch: &crate::watch::Epoch| {
            [
                (at, point("loss/train", epoch.train_loss as f32)),
                (at, point("loss/test", epoch.test_loss as f32)),
                (at, point("accuracy/train", epoch.train_accuracy as f32)),
                (at, point("accuracy/test", epoch.test_accuracy as f32)),
                (at, point("images_per_second", epoch.images_per_second as f32)),
            ]
        };
        let found: Vec<_> = read(file).into_iter().map(|(_, step, what)| (step, what)).collect();
        assert_eq!(found[..2], [(0, version()), (0, What::Start)]);
        assert_eq!(found[2..7], ends(16, &whole.history[0]));
        let steps = &found[7..9];
        assert!(
            matches!(steps, [(20, What::Point(loss, _)), (20, What::Point(rate, _))]
                if loss == "loss/step" && rate == "learning_rate"),
            "{steps:?}"
        );
        assert_eq!(found[9..], ends(32, &whole.history[1]));
    }
}
