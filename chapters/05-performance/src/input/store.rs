//! A data set on disk that is larger than memory: records in blocks, each with its own check sum.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `TPBLOCK1` |
//! | 4 | bytes of a record |
//! | 4 | records of a block; the last block may have fewer |
//! | 8 | records |
//! | 4 | 0: blocks as they are; 1: packed by deflate |
//! | 12 for each block | where it begins (8), its check sum (4) |
//! | 8 | the length of the file |
//! | 4 | check sum of all above |
//! | … | the blocks |
//!
//! Numbers are little-endian, check sums are CRC-32 of the bytes as they lie in the file.

use crate::{Error, Result};
use flate2::{Compression, Crc, read::DeflateDecoder, write::DeflateEncoder};
use std::{
    fs::File,
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

const MAGIC: &[u8; 8] = b"TPBLOCK1";
/// Bytes before the table of blocks.
const HEAD: u64 = 28;
/// Bytes of the table for each block.
const ENTRY: u64 = 12;
/// Bytes after the table: the length and the check sum.
const TAIL: u64 = 12;
/// More blocks than any data set of this course has: a table of 192 MB.
const MOST_BLOCKS: u64 = 1 << 24;
/// More bytes than a block should have.
const LARGEST_BLOCK: u64 = 1 << 30;

/// How the records lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a record.
    pub record: usize,
    /// Records of a block.
    pub block: usize,
    /// Whether blocks are packed.
    pub packed: bool,
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The little-endian number that begins at byte `at`; 0 where there are no such bytes.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at.min(bytes.len())..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at.min(bytes.len())..].first_chunk().map_or(0, |long| u64::from_le_bytes(*long))
}

fn io_error(path: &Path, error: io::Error) -> Error {
    Error::Lab(lab::Error::io(path, error))
}

/// Writes records, which lie one after the other in `records`, in this layout.
///
/// # Errors
/// [`Error::Config`] for a layout of nothing, or if `records` is not a whole number of them; [`Error::Lab`] if the file
/// can't be written.
pub fn write(path: &Path, records: &[u8], layout: Layout) -> Result<()> {
    let Layout { record, block, packed } = layout;
    let bytes = record.checked_mul(block).map_or(u64::MAX, |bytes| bytes as u64);
    if bytes == 0 || bytes > LARGEST_BLOCK || !records.len().is_multiple_of(record) {
        return Err(Error::Config(format!(
            "{} bytes can't be written as records of {record} bytes, {block} in a block; take whole records, and blocks \
             of at most 1 GiB",
            records.len()
        )));
    }
    let save = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        let blocks = records.len().div_ceil(record * block);
        let mut at = HEAD + ENTRY * blocks as u64 + TAIL;
        file.seek(SeekFrom::Start(at))?;
        let mut head = Vec::from(MAGIC);
        head.extend((record as u32).to_le_bytes());
        head.extend((block as u32).to_le_bytes());
        head.extend(((records.len() / record) as u64).to_le_bytes());
        head.extend(u32::from(packed).to_le_bytes());
        for part in records.chunks(record * block) {
            let stored = if packed {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(part)?;
                encoder.finish()?
            } else {
                part.to_vec()
            };
            head.extend(at.to_le_bytes());
            head.extend(crc(&stored).to_le_bytes());
            file.write_all(&stored)?;
            at += stored.len() as u64;
        }
        head.extend(at.to_le_bytes());
        head.extend(crc(&head).to_le_bytes());
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&head)?;
        file.flush()
    };
    save().map_err(|e| io_error(path, e))
}

/// An open file of blocks.
pub struct Store {
    path: PathBuf,
    file: File,
    layout: Layout,
    records: usize,
    /// Where each block begins, and its check sum; the last entry is the end of the file.
    table: Vec<(u64, u32)>,
    /// A block as it lies in the file, kept to be filled again.
    stored: Vec<u8>,
}

impl Store {
    /// Opens a file and checks its head and its length.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if it is no such file, cut short, or changed; [`Error::Lab`] if it can't be read.
    pub fn open(path: &Path) -> Result<Self> {
        let damaged =
            |why: String| Error::Lab(lab::Error::damaged(path, format!("{why}; write it again")));
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::UnexpectedEof => damaged("it is cut short in its head".to_owned()),
            _ => io_error(path, e),
        };
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut head = vec![0; HEAD as usize];
        file.read_exact(&mut head).map_err(failed)?;
        if !head.starts_with(MAGIC) {
            return Err(damaged("it is no file of blocks".to_owned()));
        }
        let (record, block, records) = (word(&head, 8), word(&head, 12), long(&head, 16));
        let packed = word(&head, 24);
        let bytes = u64::from(record) * u64::from(block);
        let blocks = records.div_ceil(u64::from(block.max(1)));
        if bytes == 0 || bytes > LARGEST_BLOCK || blocks > MOST_BLOCKS || packed > 1 {
            return Err(damaged("its head makes no sense".to_owned()));
        }
        let rest = (ENTRY * blocks + TAIL) as usize;
        head.resize(HEAD as usize + rest, 0);
        file.read_exact(&mut head[HEAD as usize..]).map_err(failed)?;
        let (sound, sum) = head.split_at(head.len() - 4);
        if crc(sound).to_le_bytes() != sum {
            return Err(damaged("its head has been changed".to_owned()));
        }
        let mut table = Vec::with_capacity(blocks as usize + 1);
        for at in 0..blocks as usize {
            let at = HEAD as usize + at * ENTRY as usize;
            table.push((long(&head, at), word(&head, at + 8)));
        }
        let end = long(&head, head.len() - TAIL as usize);
        table.push((end, 0));
        if !table.is_sorted_by_key(|(from, _)| from) {
            return Err(damaged("its head makes no sense".to_owned()));
        }
        if length != end {
            return Err(damaged(format!("it should have {end} bytes, and has {length}")));
        }
        let layout = Layout { record: record as usize, block: block as usize, packed: packed == 1 };
        let records = records as usize;
        Ok(Self { path: path.to_owned(), file, layout, records, table, stored: Vec::new() })
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.table.len() - 1
    }

    /// How the records lie in the file.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The number of the first record of a block, and how many it has.
    pub fn place(&self, block: usize) -> (usize, usize) {
        let first = (block * self.layout.block).min(self.records);
        (first, self.layout.block.min(self.records - first))
    }

    /// Appends the records of a block to `to`.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if the block has been changed, [`Error::Config`] if there is no such block, [`Error::Lab`] if
    /// the file can't be read.
    // ANCHOR: read
    pub fn read(&mut self, block: usize, to: &mut Vec<u8>) -> Result<()> {
        let (Some(&(from, sum)), Some(&(end, _))) =
            (self.table.get(block), self.table.get(block + 1))
        else {
            return Err(Error::Config(format!("there is no block {block}")));
        };
        let failed = |e| io_error(&self.path, e);
        self.file.seek(SeekFrom::Start(from)).map_err(failed)?;
        self.stored.resize((end - from) as usize, 0);
        self.file.read_exact(&mut self.stored).map_err(failed)?;
        if crc(&self.stored) != sum {
            return Err(self.changed(block));
        }
        let whole = to.len() + self.place(block).1 * self.layout.record;
        if self.layout.packed {
            // No more than promised: bad blocks must not fill the memory.
            to.reserve_exact(whole - to.len());
            let most = (whole - to.len()) as u64;
            let mut unpack = DeflateDecoder::new(&self.stored[..]).take(most);
            unpack.read_to_end(to).map_err(|_| self.changed(block))?;
        } else {
            to.extend_from_slice(&self.stored);
        }
        if to.len() == whole { Ok(()) } else { Err(self.changed(block)) }
    }
    // ANCHOR_END: read

    fn changed(&self, block: usize) -> Error {
        let why = format!("block {block} has been changed; write it again");
        Error::Lab(lab::Error::damaged(&self.path, why))
    }
}
