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
    let held = bytes.len();
    let wrong = |what, wanted| {
        Error::message(format!("the file is {what}: it needs {wanted} bytes and holds {held}"))
    };
    let (start, rest) = bytes.split_first_chunk().ok_or_else(|| wrong("cut short", 4))?;
    let [0, 0, 8, dimensions] = *start else {
        let sentence = format!("the file is not an IDX file of bytes: it begins with {start:02x?}");
        return Err(Error::message(sentence));
    };
    let sizes = 4 * usize::from(dimensions);
    let header = 4 + sizes;
    let (sizes, data) = rest.split_at_checked(sizes).ok_or_else(|| wrong("cut short", header))?;
    let (sizes, _) = sizes.as_chunks();
    let sizes: Vec<_> = sizes.iter().map(|size| u32::from_be_bytes(*size) as usize).collect();
    let elements = sizes.iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
    let Some(wanted) = elements.and_then(|elements| elements.checked_add(header)) else {
        let sentence = format!("the file promises sizes that no memory holds: {sizes:?}");
        return Err(Error::message(sentence));
    };
    if held < wanted {
        return Err(wrong("cut short", wanted));
    }
    if held > wanted {
        return Err(wrong("too long", wanted));
    }
    Ok((sizes, data))
    // EXERCISE: instead
    // if bytes[..3] != [0, 0, 8] {
    //     return Err(Error::message("the file is not an IDX file of bytes"));
    // }
    // let header = 4 + 4 * usize::from(bytes[3]);
    // let (sizes, _) = bytes[4..header].as_chunks();
    // let sizes: Vec<_> = sizes.iter().map(|size| u32::from_be_bytes(*size) as usize).collect();
    // let elements: usize = sizes.iter().product();
    // Ok((sizes, &bytes[header..header + elements]))
    // EXERCISE: end
}
