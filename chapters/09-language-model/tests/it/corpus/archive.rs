use flate2::{Compression, write::GzEncoder};
use lab::testing::refused;
use language_model::corpus::archive::{BLOCK, beside, entries, files};
use sha2::{Digest, Sha256};
use std::{fs, io::Write, path::Path};

fn entry(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    block[156] = kind;
    block.extend(bytes);
    block.resize(block.len().next_multiple_of(BLOCK), 0);
    block
}

fn tar() -> Vec<u8> {
    let long = format!("some-1.0.0/{}/deep.rs\0", "folder".repeat(20));
    let mut tar = entry("some-1.0.0/src/lib.rs", b'0', b"fn main() {}\n");
    tar.extend(entry("some-1.0.0/README.md", b'0', &[b'#'; 600]));
    tar.extend(entry("././@LongLink", b'L', long.as_bytes()));
    tar.extend(entry(&long[..99], b'0', b"// deep"));
    tar.extend(entry("some-1.0.0/build.rs", 0, b""));
    tar.extend([0; 2 * BLOCK]);
    tar
}

#[test]
fn the_rust_files_of_an_archive_are_read_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some-1.0.0.crate");
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&tar()).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(&path, &packed).unwrap();
    let sha256 = format!("{:x}", Sha256::digest(&packed));
    let files = files(&path, &sha256).unwrap();
    let deep = format!("{}/deep.rs", "folder".repeat(20));
    let wanted = [("build.rs", &b""[..]), (&deep, b"// deep"), ("src/lib.rs", b"fn main() {}\n")];
    assert!(files.iter().map(|(name, text)| (name.as_str(), &text[..])).eq(wanted), "{files:?}");

    fs::write(&path, &packed[..packed.len() - 9]).unwrap();
    refused(language_model::corpus::archive::files(&path, &sha256), ["Cargo.lock"]);
    let sha256 = format!("{:x}", Sha256::digest(&packed[..packed.len() - 9]));
    refused(language_model::corpus::archive::files(&path, &sha256), ["can't be unpacked"]);
}

#[test]
fn an_archive_that_is_cut_short_or_no_archive_is_an_error() {
    let whole = tar();
    assert_eq!(entries(&whole).unwrap().len(), 3);
    for at in (1..whole.len() - 2 * BLOCK).step_by(97) {
        // It may end early, and never panics.
        let _ = entries(&whole[..at]);
    }
    assert!(entries(&whole[..BLOCK + 5]).is_err());
    assert!(entries(&[b'x'; 3 * BLOCK]).is_err());
    assert!(entries(b"").unwrap().is_empty());
}

#[test]
fn the_archive_lies_in_the_registrys_cache() {
    let found = beside(Path::new("/home/me/.cargo/registry/src/index-1/some-1.0.0")).unwrap();
    assert_eq!(found, Path::new("/home/me/.cargo/registry/cache/index-1/some-1.0.0.crate"));
    assert!(beside(Path::new("/project/vendor/some")).is_none());
    assert!(beside(Path::new("/")).is_none());
}
