//! The reader of IDX files must not panic on any bytes, and what it accepts must be consistent.
//!
//! `cargo +nightly fuzz run idx` in `chapters/00-lab` (needs `cargo install cargo-fuzz`).

#![no_main]

use lab::data::idx;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok((header, range)) = idx::images(bytes) {
        assert_eq!(header.count * header.rows * header.cols, range.len());
        let again = idx::write_images(&bytes[range], header.rows, header.cols);
        assert_eq!(again, bytes);
    }
    if let Ok(range) = idx::labels(bytes) {
        assert!(bytes[range.clone()].iter().all(|&label| label < idx::CLASSES));
        assert_eq!(idx::write_labels(&bytes[range]), bytes);
    }
});
