//! A crate's archive as Cargo downloads it: a tar file, compressed by gzip.
//!
//! Cargo keeps the archives of a registry in `registry/cache/INDEX` and unpacks them into `registry/src/INDEX`. Only the
//! archive's SHA-256 is in `Cargo.lock`, so only the archive can be checked: a file that someone has edited in the
//! unpacked folder is not noticed by Cargo, and does not come into this corpus.
//!
//! A tar file is a row of blocks of 512 bytes: for each file a header, then its bytes, filled up with zeros
//! (POSIX.1-1988, "ustar"). A path of more than 100 bytes comes before its file, as the bytes of an entry of type `L`.

use crate::{Error, Result};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use std::{
    fs,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

/// The most that an archive may hold: what is larger is no crate.
const MOST: u64 = 1 << 28;
const BLOCK: usize = 512;

/// Where the archive of a crate lies, by the folder that it was unpacked into; nothing if that is in no registry.
pub fn beside(folder: &Path) -> Option<PathBuf> {
    let (name, index) = (folder.file_name()?.to_str()?, folder.parent()?);
    let sources = index.parent().filter(|path| path.ends_with("registry/src"))?;
    Some(sources.with_file_name("cache").join(index.file_name()?).join(format!("{name}.crate")))
}

/// The Rust files in an archive: paths inside the crate, and bytes.
///
/// # Errors
/// If it can't be read, has another SHA-256, or is no such archive.
pub fn files(path: &Path, sha256: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let packed = fs::read(path).map_err(|cause| lab::Error::io(path, cause))?;
    if format!("{:x}", Sha256::digest(&packed)) != sha256 {
        return Err(Error::file(path, "it is not the archive that `Cargo.lock` pins"));
    }
    let mut tar = Vec::new();
    let read = GzDecoder::new(&packed[..]).take(MOST).read_to_end(&mut tar);
    read.map_err(|cause| Error::file(path, format!("it can't be unpacked ({cause})")))?;
    entries(&tar).map_err(|cause| Error::file(path, cause.to_string()))
}

/// The Rust files in an unpacked tar file.
fn entries(mut tar: &[u8]) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let cut = || std::io::Error::new(ErrorKind::UnexpectedEof, "the archive is cut short");
    let (mut files, mut long) = (Vec::new(), None);
    while let Some((header, rest)) = tar.split_at_checked(BLOCK) {
        // Two blocks of zeros end it.
        if header[0] == 0 {
            break;
        }
        let size = std::str::from_utf8(text(&header[124..136])).ok();
        let size = size.and_then(|s| usize::from_str_radix(s.trim(), 8).ok()).ok_or_else(cut)?;
        let bytes = rest.get(..size).ok_or_else(cut)?;
        tar = rest.get(size.next_multiple_of(BLOCK)..).unwrap_or_default();
        match header[156] {
            b'L' => long = Some(text(bytes).to_vec()),
            b'0' | 0 => {
                let name = long.take().unwrap_or_else(|| {
                    let prefix = text(&header[345..500]);
                    let ustar = header[257..].starts_with(b"ustar\0") && !prefix.is_empty();
                    let before = if ustar { [prefix, b"/"].concat() } else { Vec::new() };
                    [&before, text(&header[..100])].concat()
                });
                let name = String::from_utf8_lossy(&name);
                // The first folder is the crate's name and version.
                if let Some((_, inside)) = name.split_once('/').filter(|(_, n)| folder_is_rust(n)) {
                    files.push((inside.to_owned(), bytes.to_vec()));
                }
            }
            _ => long = None,
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a path is that of a Rust file.
fn folder_is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

/// A field up to its first zero.
fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

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
        let wanted =
            [("build.rs", &b""[..]), (&deep, b"// deep"), ("src/lib.rs", b"fn main() {}\n")];
        assert!(
            files.iter().map(|(name, text)| (name.as_str(), &text[..])).eq(wanted),
            "{files:?}"
        );

        fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        let error = super::files(&path, &sha256).unwrap_err().to_string();
        assert!(error.contains("Cargo.lock"), "{error}");
        let sha256 = format!("{:x}", Sha256::digest(&packed[..packed.len() - 9]));
        let error = super::files(&path, &sha256).unwrap_err().to_string();
        assert!(error.contains("can't be unpacked"), "{error}");
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
}
