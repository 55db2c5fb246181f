//! An IDX file with any number of dimensions, read from unchecked bytes.

use lab::{Error, Result};

/// The sizes of an IDX file's dimensions, and its data.
///
/// A file is two zero bytes, an 8 (for unsigned bytes), the number of dimensions in one byte, the size of
/// each dimension as a big-endian 32-bit number, and then one byte for each element.
///
/// # Errors
/// If the bytes are no such file: a message that says what is wrong.
pub fn read(bytes: &[u8]) -> Result<(Vec<usize>, &[u8])> {
    // EXERCISE: begin
    if bytes[..3] != [0, 0, 8] {
        return Err(Error::message("the file is not an IDX file of bytes"));
    }
    let header = 4 + 4 * usize::from(bytes[3]);
    let (sizes, _) = bytes[4..header].as_chunks();
    let sizes: Vec<_> = sizes.iter().map(|size| u32::from_be_bytes(*size) as usize).collect();
    let elements: usize = sizes.iter().product();
    Ok((sizes, &bytes[header..header + elements]))
    // EXERCISE: end
}
