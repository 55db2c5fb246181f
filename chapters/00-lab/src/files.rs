//! Files that a person names.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Opens a file to read it. A pipe or a device is refused: it could be waited for without end.
///
/// # Errors
/// The system's, and one that says that it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let said = open_regular(&pipe).unwrap_err().to_string();
        assert!(said.contains("not a regular file"), "{said}");
    }

    #[test]
    fn a_file_is_opened_and_what_is_missing_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"text").unwrap();
        assert_eq!(io::read_to_string(open_regular(&file).unwrap()).unwrap(), "text");
        assert!(open_regular(folder.path()).is_err());
        let missing = open_regular(&folder.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
