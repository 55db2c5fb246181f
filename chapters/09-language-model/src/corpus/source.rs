//! What a text is made of: files, and the crates that they are from.

/// A file of a crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The crate's name.
    pub krate: String,
    /// Its version; two versions of a crate may be in use.
    pub version: String,
    /// The file's path inside the crate, with `/` on every system.
    pub path: String,
    /// Its bytes, which are UTF-8.
    pub text: Vec<u8>,
}

impl AsRef<[u8]> for Source {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// A crate that gave files to the corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, as the crate states it: `MIT OR Apache-2.0`.
    pub licence: String,
    /// How many of its files are in the corpus.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether they are kept for validation.
    pub validation: bool,
}

/// A crate and the Rust files in it, before anything is left out.
pub type Unsorted = (Package, Vec<(String, Vec<u8>)>);
