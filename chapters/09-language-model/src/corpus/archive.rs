//! A crate's archive as Cargo downloads it: a tar file, compressed by gzip.
//!
//! Cargo keeps the archives of a registry in `registry/cache/INDEX` and unpacks them into `registry/src/INDEX`. Only the
//! archive's SHA-256 is in `Cargo.lock`, so only the archive can be checked: a file that someone has edited in the
//! unpacked folder is not noticed by Cargo, and does not come into this corpus.
//!
//! A tar file is a row of blocks of 512 bytes: for each file a header, then its bytes, filled up with zeros
//! (POSIX.1-1988, "ustar"). A path of more than 100 bytes comes before its file, as the bytes of an entry of type `L`.

use super::folder::is_rust;
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
/// The bytes of a block of a tar archive.
pub const BLOCK: usize = 512;

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
///
/// # Errors
/// If it is no archive.
pub fn entries(mut tar: &[u8]) -> std::io::Result<Vec<(String, Vec<u8>)>> {
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
                if let Some((_, inside)) = name.split_once('/').filter(|(_, n)| is_rust(n.as_ref()))
                {
                    files.push((inside.to_owned(), bytes.to_vec()));
                }
            }
            _ => long = None,
        }
    }
    files.sort();
    Ok(files)
}

/// A field up to its first zero.
fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or_default()
}
