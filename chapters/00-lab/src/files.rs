//! Files that a person names.

use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Opens a file to read it. A pipe or a device is refused: it could be waited for without end.
///
/// # Errors
/// The system's, and one that says that it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

/// What lies in a folder, in the order of names; nothing if there is no such folder.
pub fn inside(folder: &Path) -> Vec<PathBuf> {
    let mut inside: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    inside.sort();
    inside
}

/// The bytes of a file that [`open_regular`] opens.
///
/// # Errors
/// As [`open_regular`].
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file's text without the byte order mark that an editor may have put before it.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A path as a person types it after a command.
pub fn typed(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A word of a command, in quotes if a shell would take it apart.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/\\:._-+,@~=%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// SHA-256 of what a model file says about its model and of its weights, little-endian, in hexadecimal digits.
pub fn check_sum(said: &[&str], weights: &[f32]) -> String {
    let mut sha = Sha256::new();
    for text in said {
        sha.update(text);
    }
    for weight in weights {
        sha.update(weight.to_le_bytes());
    }
    format!("{:x}", sha.finalize())
}

/// A safetensors file's bytes with these metadata in the order of their names, so that equal values are equal bytes.
///
/// # Panics
/// If the file is none, or has metadata already.
pub fn with_metadata(file: &[u8], about: &BTreeMap<&str, String>) -> Vec<u8> {
    let (length, rest) = file.split_first_chunk().expect("a length");
    let (header, tensors) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let others = std::str::from_utf8(header).expect("JSON").trim_end();
    let others = others.strip_prefix('{').expect("an object");
    let mut header = format!("{{\"__metadata__\":{},{others}", serde_json::json!(about));
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), tensors].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_pasted_after_a_command() {
        for (path, text) in [
            ("runs/2025-01-31T12-00-00-mlp", "runs/2025-01-31T12-00-00-mlp"),
            ("C:\\runs\\größe", "C:\\runs\\größe"),
            ("my runs/a", "'my runs/a'"),
            ("it's $5", r"'it'\''s $5'"),
        ] {
            assert_eq!(typed(Path::new(path)), text);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for said in [open_regular(&pipe).map(drop), read_regular(&pipe).map(drop)] {
            assert!(said.unwrap_err().to_string().contains("not a regular file"));
        }
    }

    #[test]
    fn a_file_is_opened_and_what_is_missing_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"text").unwrap();
        assert_eq!(io::read_to_string(open_regular(&file).unwrap()).unwrap(), "text");
        assert_eq!(read_regular(&file).unwrap(), b"text");
        assert!(open_regular(folder.path()).is_err());
        let missing = open_regular(&folder.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
