//! The size of a piece: the same copy in pieces of different sizes, through memory between the two.

/// Copies `from` to `to` in pieces through a staging buffer as long as a piece: what a driver does with memory that its
/// device may not read by itself.
///
/// # Panics
/// If `from` and `to` differ in length, or the staging buffer is empty.
pub fn staged_copy(from: &[u8], to: &mut [u8], stage: &mut [u8]) {
    assert!(from.len() == to.len() && !stage.is_empty());
    let piece = stage.len();
    for (from, to) in from.chunks(piece).zip(to.chunks_mut(piece)) {
        let stage = &mut stage[..from.len()];
        stage.copy_from_slice(from); // a small stage is still in the cache …
        std::hint::black_box(&mut *stage); // do not skip it
        to.copy_from_slice(stage); // … when it is read again
    }
}
