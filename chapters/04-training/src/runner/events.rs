//! Event files: a run's curves as TensorBoard reads them.
//!
//! A file is a row of records, each a length, the bytes and two check sums (`TFRecord`, see TensorFlow's
//! `record_writer.cc`). The bytes are an `Event` in protobuf's wire format (TensorFlow's `event.proto` and
//! `summary.proto`), which needs a few lines for the few fields that are used here. TensorBoard reads all
//! event files of a folder in the order of their names and skips a record that is cut off at the end, so a
//! killed run does no harm and a resumed one adds a file.

use crate::{
    Error, Result,
    runner::{
        files::not_written,
        outcome::Outcome,
        watch::{Begin, Epoch, Step, Watcher},
    },
};
use crc::{CRC_32_ISCSI, Crc};
use std::{
    env,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// How the name of every event file begins.
const PREFIX: &str = "events.out.tfevents.";

/// A step's loss is written this often: every one of them would be most of a small model's work.
const EVERY: u64 = 20;

/// An open event file. Every record is handed to the system at once: a killed program loses none.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    file: File,
}

impl EventFile {
    /// Makes a new event file in a folder, younger by name than those that are there. `seconds` is the time
    /// since 1970; `resumed_at` is the first step of a run that goes on: points from there on, in the older
    /// files, are from steps that were taken and lost, and TensorBoard drops them.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file can't be written.
    pub fn create(folder: &Path, seconds: f64, resumed_at: Option<u64>) -> Result<Self> {
        // Also where the clock was set back, or two runs began within a second.
        let youngest = files(folder).iter().filter_map(|path| second(path)).max();
        let second = youngest.map_or(0, |second| second + 1).max(seconds as u64);
        let name = format!("{PREFIX}{second:010}.{}.{}", host(), std::process::id());
        let path = folder.join(name);
        let file = File::create_new(&path).map_err(|e| not_written(&path, &e))?;
        let mut events = Self { path, file };
        events.event(seconds, 0, &field(3, b"brain.Event:2"))?;
        if let Some(step) = resumed_at {
            let start = varint_field(1, 1); // SessionLog.status = START
            events.event(seconds, step, &field(7, &start))?;
        }
        Ok(events)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a point to the curve `tag`, at a step and a time in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it can't be written.
    pub fn scalar(&mut self, tag: &str, step: u64, value: f64, seconds: f64) -> Result<()> {
        let mut point = field(1, tag.as_bytes()); // Value.tag
        point.push(2 << 3 | FIXED32); // Value.simple_value
        point.extend((value as f32).to_le_bytes());
        let summary = field(1, &point); // Summary.value
        self.event(seconds, step, &field(5, &summary))
    }

    /// Adds one `Event`: its time, its step and one further field.
    fn event(&mut self, seconds: f64, step: u64, what: &[u8]) -> Result<()> {
        let mut event = vec![1 << 3 | FIXED64]; // Event.wall_time
        event.extend(seconds.to_le_bytes());
        event.extend(varint_field(2, step)); // Event.step
        event.extend(what);
        // One call for the whole record.
        self.file.write_all(&record(&event)).map_err(|e| not_written(&self.path, &e))
    }
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

/// The time now, in seconds since 1970.
pub fn now() -> f64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64())
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

/// Passes a run on to another watcher, and writes its curves into an event file.
///
/// A file that can't be written does not end the run: the first error is kept for [`Board::problem`], and
/// nothing more is written.
pub struct Board<'w> {
    inner: &'w mut dyn Watcher,
    folder: Option<PathBuf>,
    file: Option<EventFile>,
    /// Steps of an epoch.
    steps: u64,
    problem: Option<Error>,
}

impl<'w> Board<'w> {
    /// A board in the run's folder; without one it only passes on.
    pub fn new(inner: &'w mut dyn Watcher, folder: Option<&Path>) -> Self {
        let folder = folder.map(Path::to_owned);
        Self { inner, folder, file: None, steps: 0, problem: None }
    }

    /// Why the event file is not whole, if it is not.
    pub fn problem(&self) -> Option<&Error> {
        self.problem.as_ref()
    }

    /// Adds points at a step.
    fn points(&mut self, step: u64, points: &[(&str, f64)]) {
        let Some(file) = &mut self.file else { return };
        let time = now();
        if let Err(error) =
            points.iter().try_for_each(|&(tag, value)| file.scalar(tag, step, value, time))
        {
            (self.problem, self.file) = (Some(error), None);
        }
    }
}

impl Watcher for Board<'_> {
    fn begin(&mut self, begin: &Begin) {
        self.steps = begin.steps as u64;
        let (epochs, steps) = begin.done;
        let taken = epochs as u64 * self.steps + steps as u64;
        if let Some(folder) = &self.folder {
            // A run that was killed before its first step was saved goes on from none at all.
            let resumed_at = (!files(folder).is_empty()).then_some(taken + 1);
            match EventFile::create(folder, now(), resumed_at) {
                Ok(file) => self.file = Some(file),
                Err(error) => self.problem = Some(error),
            }
        }
        self.inner.begin(begin);
    }

    fn step(&mut self, step: &Step) {
        let taken = (step.epoch as u64 - 1) * self.steps + step.step as u64;
        if taken.is_multiple_of(EVERY) {
            self.points(taken, &[("loss/step", step.loss), ("learning_rate", step.lr)]);
        }
        self.inner.step(step);
    }

    fn epoch(&mut self, epoch: &Epoch) {
        let mut points = vec![
            ("loss/train", epoch.train_loss),
            ("loss/test", epoch.test_loss),
            ("accuracy/train", epoch.train_accuracy),
            ("accuracy/test", epoch.test_accuracy),
            ("images_per_second", epoch.images_per_second),
        ];
        points.extend(epoch.validation_loss.map(|loss| ("loss/validation", loss)));
        points.extend(epoch.validation_accuracy.map(|share| ("accuracy/validation", share)));
        self.points(epoch.epoch as u64 * self.steps, &points);
        self.inner.epoch(epoch);
    }

    fn warn(&mut self, words: &str) {
        self.inner.warn(words);
    }

    fn end(&mut self, outcome: &Outcome) {
        self.inner.end(outcome);
    }

    fn stop(&mut self) -> bool {
        self.inner.stop()
    }

    fn stop_testing(&mut self) -> bool {
        self.inner.stop_testing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Silent, Start, train_on};
    use lab::data;

    /// What an event says.
    #[derive(Debug, PartialEq)]
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

    #[test]
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = EventFile::create(folder.path(), 1.7e9, None).unwrap();
        assert_eq!(read(file.path()), [(1.7e9, 0, version())]);
        file.scalar("loss/step", 300, 0.25, 1.7e9 + 0.5).unwrap();
        let long = "a".repeat(200); // lengths of two bytes
        file.scalar(&long, u64::from(u32::MAX) + 1, -1e9, 1.7e9 + 1.0).unwrap();
        file.scalar("broken", 0, f64::NAN, 0.0).unwrap();
        let mut events = read(file.path());
        let (time, step, broken) = events.pop().unwrap();
        assert_eq!((time, step), (0.0, 0));
        assert!(matches!(broken, What::Point(tag, value) if tag == "broken" && value.is_nan()));
        let wanted = [
            (1.7e9, 0, version()),
            (1.7e9 + 0.5, 300, point("loss/step", 0.25)),
            (1.7e9 + 1.0, 1 << 32, point(&long, -1e9)),
        ];
        assert_eq!(events, wanted);
    }

    #[test]
    fn each_file_is_younger_by_name_than_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let made: Vec<PathBuf> = [2e9, 2e9, 5.0, 2e9 + 1.5]
            .map(|time| EventFile::create(folder.path(), time, None).unwrap().path)
            .into();
        assert_eq!(files(folder.path()), made);
        assert_eq!(second(&made[3]), Some(2_000_000_003));
        let resumed = EventFile::create(folder.path(), 3e9, Some(71)).unwrap();
        assert_eq!(read(resumed.path()), [(3e9, 0, version()), (3e9, 71, What::Start)]);
    }

    /// Stops after this many steps.
    struct StopAfter(usize);

    impl Watcher for StopAfter {
        fn stop(&mut self) -> bool {
            self.0 -= 1;
            self.0 == 0
        }
    }

    #[test]
    fn a_run_and_its_second_part_leave_their_curves() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let data = data::drawn(160, 20, 1);
        let settings = crate::Settings { epochs: 2, batch: 10, ..Default::default() };
        let mut config = Config { settings, run: Some(run.clone()), ..Config::default() };
        let mut stop = StopAfter(21); // an epoch has 16
        let mut board = Board::new(&mut stop, Some(&run));
        let first = train_on(&config, &data, &mut board).unwrap();
        assert!(board.problem().is_none());
        assert_eq!(first.stopped, Some((2, 5)));
        config.start = Start::Resume;
        let whole = train_on(&config, &data, &mut Board::new(&mut Silent, Some(&run))).unwrap();

        let [one, two] = &files(&run)[..] else { panic!("two event files") };
        let steps = |path: &Path| -> Vec<(u64, What)> {
            read(path).into_iter().map(|(_, step, what)| (step, what)).collect()
        };
        let ends = |at: u64, epoch: &Epoch| {
            [
                (at, point("loss/train", epoch.train_loss as f32)),
                (at, point("loss/test", epoch.test_loss as f32)),
                (at, point("accuracy/train", epoch.train_accuracy as f32)),
                (at, point("accuracy/test", epoch.test_accuracy as f32)),
                (at, point("images_per_second", epoch.images_per_second as f32)),
            ]
        };
        let one = steps(one);
        assert_eq!(one[0], (0, version()));
        assert_eq!(one[1..6], ends(16, &whole.history[0]));
        assert!(
            matches!(&one[6..], [(20, What::Point(tag, _)), _] if tag == "loss/step"),
            "{one:?}"
        );
        let two = steps(two);
        assert_eq!(two[..2], [(0, version()), (22, What::Start)]);
        assert_eq!(two[2..], ends(32, &whole.history[1]));

        // A new run in its place begins with its own file alone.
        config.start = Start::Replace;
        train_on(&config, &data, &mut Board::new(&mut Silent, Some(&run))).unwrap();
        let [new] = &files(&run)[..] else { panic!("the replaced run's events stay") };
        assert_eq!(steps(new).iter().filter(|(_, what)| *what == What::Start).count(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_a_problem_and_no_end() {
        let folder = tempfile::tempdir().unwrap();
        let data = data::drawn(60, 20, 1);
        let settings = crate::Settings { epochs: 1, batch: 10, ..Default::default() };
        let config = Config { settings, ..Config::default() };
        let nowhere = folder.path().join("not there");
        let mut silent = Silent;
        let mut board = Board::new(&mut silent, Some(&nowhere));
        let outcome = train_on(&config, &data, &mut board).unwrap();
        assert_eq!(outcome.history.len(), 1);
        let problem = board.problem().unwrap().to_string();
        assert!(problem.contains("events.out.tfevents"), "{problem}");
        // Without a folder there is nothing to write.
        let mut board = Board::new(&mut silent, None);
        train_on(&config, &data, &mut board).unwrap();
        assert!(board.problem().is_none());
    }
}
