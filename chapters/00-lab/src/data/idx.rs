//! IDX, the format of MNIST's files, read from unchecked bytes.
//!
//! A file is a magic number (two zero bytes, 8 for unsigned bytes, the number of dimensions), the size of
//! each dimension as a big-endian 32-bit number, then the data. Images have three dimensions (count,
//! rows, columns), labels one. Source: <https://yann.lecun.com/exdb/mnist/>, "File formats".

use std::ops::Range;

/// Bytes of an image file before its first pixel.
pub const IMAGES_HEADER: usize = 16;
/// Bytes of a label file before its first label.
pub const LABELS_HEADER: usize = 8;
/// Classes that the course's models tell apart.
pub const CLASSES: u8 = 10;
const IMAGES_MAGIC: u32 = 0x0803;
const LABELS_MAGIC: u32 = 0x0801;
/// Far more than any data set of this format needs (EMNIST, the largest known, has 550 MB).
const LARGEST: u64 = 2 << 30;

/// What is wrong with the bytes of a file. Each continues a sentence that begins with the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Fewer bytes than a header.
    #[error("holds {0} bytes, fewer than the header of an IDX file")]
    NoHeader(usize),
    /// Not an IDX file, or one of the other kind.
    #[error(
        "is not an IDX file of {expected}: it begins with {found:#010x} instead of {wanted:#010x}"
    )]
    Magic {
        /// `images` or `labels`.
        expected: &'static str,
        /// The file's first four bytes.
        found: u32,
        /// What they should be.
        wanted: u32,
    },
    /// A header of zero images, rows or columns.
    #[error("is empty: its header says {0}")]
    Empty(String),
    /// A header that promises more than any data set has.
    #[error("promises {0}, more than this program reads; is it damaged?")]
    Huge(String),
    /// Fewer bytes than the header promises.
    #[error("is cut short: its header promises {wanted} bytes and it holds {found}")]
    Truncated {
        /// Bytes by the header.
        wanted: u64,
        /// Bytes there are.
        found: u64,
    },
    /// More bytes than the header promises.
    #[error("is too long: its header promises {wanted} bytes and it holds more")]
    Oversized {
        /// Bytes by the header.
        wanted: u64,
    },
    /// A label that is no digit.
    #[error(
        "has the label {label} at index {index}; the course's models tell the classes 0 to 9 apart"
    )]
    Label {
        /// Which label.
        index: usize,
        /// Its value.
        label: u8,
    },
}

/// The sizes that an image file's header promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Images.
    pub count: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub cols: usize,
}

impl Header {
    /// The bytes of the whole file.
    pub fn file_size(self) -> u64 {
        (IMAGES_HEADER + self.count * self.rows * self.cols) as u64
    }
}

/// Reads the header of an image file from its first 16 bytes; more may follow.
///
/// # Errors
/// Any [`Fault`] of the header.
// ANCHOR: header
pub fn images_header(bytes: &[u8]) -> Result<Header, Fault> {
    let [magic, count, rows, cols] = words(bytes)?;
    check_magic("images", magic, IMAGES_MAGIC)?;
    let sizes = format!("{count} images of {rows}×{cols}");
    // Three 32-bit numbers can promise more than 64 bits hold.
    let pixels = u64::from(rows) * u64::from(cols);
    match pixels.checked_mul(count.into()) {
        Some(0) => return Err(Fault::Empty(sizes)),
        Some(size) if size <= LARGEST => {}
        _ => return Err(Fault::Huge(sizes)),
    }
    let [count, rows, cols] = [count, rows, cols].map(|size| size as usize);
    Ok(Header { count, rows, cols })
}
// ANCHOR_END: header

/// Reads the header of a label file from its first 8 bytes: how many labels follow.
///
/// # Errors
/// Any [`Fault`] of the header.
pub fn labels_header(bytes: &[u8]) -> Result<usize, Fault> {
    let [magic, count] = words(bytes)?;
    check_magic("labels", magic, LABELS_MAGIC)?;
    match u64::from(count) {
        0 => Err(Fault::Empty("0 labels".to_owned())),
        size if size <= LARGEST => Ok(count as usize),
        _ => Err(Fault::Huge(format!("{count} labels"))),
    }
}

/// A whole image file: its sizes, and where in `bytes` the pixels are.
///
/// # Errors
/// Any [`Fault`] but that of labels.
pub fn images(bytes: &[u8]) -> Result<(Header, Range<usize>), Fault> {
    let header = images_header(bytes)?;
    check_size(bytes, header.file_size())?;
    Ok((header, IMAGES_HEADER..bytes.len()))
}

/// A whole label file: where in `bytes` the labels are. All are 0 to 9.
///
/// # Errors
/// Any [`Fault`].
pub fn labels(bytes: &[u8]) -> Result<Range<usize>, Fault> {
    let count = labels_header(bytes)?;
    check_size(bytes, (LABELS_HEADER + count) as u64)?;
    let range = LABELS_HEADER..bytes.len();
    match bytes[range.clone()].iter().position(|&label| label >= CLASSES) {
        Some(index) => Err(Fault::Label { index, label: bytes[LABELS_HEADER + index] }),
        None => Ok(range),
    }
}

/// An image file's bytes. `pixels` holds whole images of `rows`×`cols`.
///
/// # Panics
/// If `pixels` is not a whole number of images.
pub fn write_images(pixels: &[u8], rows: usize, cols: usize) -> Vec<u8> {
    let size = rows * cols;
    assert!(size > 0 && pixels.len().is_multiple_of(size), "whole images");
    let mut bytes = Vec::with_capacity(IMAGES_HEADER + pixels.len());
    for word in [IMAGES_MAGIC, (pixels.len() / size) as u32, rows as u32, cols as u32] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(pixels);
    bytes
}

/// A label file's bytes.
pub fn write_labels(labels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LABELS_HEADER + labels.len());
    bytes.extend(LABELS_MAGIC.to_be_bytes());
    bytes.extend((labels.len() as u32).to_be_bytes());
    bytes.extend(labels);
    bytes
}

/// The first `N` big-endian words.
fn words<const N: usize>(bytes: &[u8]) -> Result<[u32; N], Fault> {
    let (words, _) = bytes.as_chunks::<4>();
    match words.first_chunk::<N>() {
        Some(words) => Ok(words.map(u32::from_be_bytes)),
        None => Err(Fault::NoHeader(bytes.len())),
    }
}

fn check_magic(expected: &'static str, found: u32, wanted: u32) -> Result<(), Fault> {
    if found == wanted { Ok(()) } else { Err(Fault::Magic { expected, found, wanted }) }
}

fn check_size(bytes: &[u8], wanted: u64) -> Result<(), Fault> {
    let found = bytes.len() as u64;
    match found.cmp(&wanted) {
        std::cmp::Ordering::Less => Err(Fault::Truncated { wanted, found }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(Fault::Oversized { wanted }),
    }
}
