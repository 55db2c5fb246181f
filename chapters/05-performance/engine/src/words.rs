//! Words as what they mean. Any bits are a number of each of these kinds.

/// The bytes of words.
pub fn bytes(words: &[f32]) -> &[u8] {
    // SAFETY: bytes need no alignment, and any bits are bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// The bytes of words, to be written.
pub fn bytes_mut(words: &mut [f32]) -> &mut [u8] {
    // SAFETY: as above; any bytes are an f32.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Words as whole numbers.
pub fn whole(words: &[f32]) -> &[u32] {
    // SAFETY: both have the same size and alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// Whole numbers as words.
pub fn words(whole: &[u32]) -> &[f32] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(whole.as_ptr().cast(), whole.len()) }
}

/// Words as whole numbers, to be written.
pub fn whole_mut(words: &mut [f32]) -> &mut [u32] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}
