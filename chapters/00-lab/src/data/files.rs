//! The four files of a data set in a folder: found, checked, then decoded.
//!
//! Plain files of MNIST's sizes are decoded by the `mnist` crate. That crate panics on anything it does
//! not expect (another count, another size of image, a missing file) and reads no gzip, so every file is
//! checked here first, and what the crate can't read is taken from the checked bytes.

use super::{
    idx,
    set::{DataSet, Source, Split},
};
use crate::{Error, Result, files::inside, limits};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    ops::Range,
    path::{Path, PathBuf},
};

/// One of a data set's published files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The name, without `.gz`.
    pub name: &'static str,
    /// Bytes of the unpacked file.
    pub size: u64,
    /// SHA-256 of the unpacked file; packed ones differ between mirrors.
    pub sha256: &'static str,
}

/// MNIST: training images and labels, test images and labels.
pub const MNIST: [Published; 4] = [
    Published {
        name: "train-images-idx3-ubyte",
        size: 47_040_016,
        sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    },
    Published {
        name: "train-labels-idx1-ubyte",
        size: 60_008,
        sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    },
    Published {
        name: "t10k-images-idx3-ubyte",
        size: 7_840_016,
        sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    },
    Published {
        name: "t10k-labels-idx1-ubyte",
        size: 10_008,
        sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
];

/// Fashion-MNIST: ten kinds of clothes in files like MNIST's.
pub const FASHION: [Published; 4] = {
    let [mut a, mut b, mut c, mut d] = MNIST;
    a.sha256 = "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888";
    b.sha256 = "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9";
    c.sha256 = "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b";
    d.sha256 = "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34";
    [a, b, c, d]
};

/// Reads the data set in `folder`, plain or gzip. It is Fashion-MNIST if its files are, byte for byte, [`FASHION`], and
/// MNIST if they are `published` (that is, [`MNIST`]).
///
/// # Errors
/// A message that names the file that is missing, unreadable or damaged, and says how.
pub fn read(folder: &Path, published: &[Published; 4]) -> Result<DataSet> {
    let [train, test] = [0, 2].map(|first| {
        let images = Checked::open(folder, published[first].name, Kind::Images)?;
        let labels = Checked::open(folder, published[first + 1].name, Kind::Labels)?;
        images.goes_with(&labels)?;
        Ok((images, labels))
    });
    let (train, test) = (train?, test?);
    train.0.same_size(&test.0)?;
    let digests = [&train.0, &train.1, &test.0, &test.1].map(|file| digest(&file.bytes));
    let are = |set: &[Published; 4]| set.each_ref().map(|file| file.sha256) == digests;
    let source = match folder.to_owned() {
        folder if are(&FASHION) => Source::Fashion(folder),
        folder if are(published) => Source::Mnist(folder),
        folder => Source::Files(folder),
    };
    let [train, test] = match through_mnist_crate(folder, &train, &test) {
        Some(splits) => splits,
        None => [train, test].map(|(images, labels)| images.split(labels)),
    };
    Ok(DataSet { train, test, source, note: None })
}

/// Hands the files to the `mnist` crate where it can read them: plain, 60,000 and 10,000 images of 28×28.
/// They have been checked, so that it finds nothing to panic about.
fn through_mnist_crate(
    folder: &Path,
    train: &(Checked, Checked),
    test: &(Checked, Checked),
) -> Option<[Split; 2]> {
    let shape = |file: &Checked, count| {
        !file.packed && file.header == idx::Header { count, rows: 28, cols: 28 }
    };
    if !shape(&train.0, 60_000) || !shape(&test.0, 10_000) || train.1.packed || test.1.packed {
        return None;
    }
    // While it joins and splits its images it holds up to four times as many bytes, and it panics without them.
    if !limits::grants(4 * (train.0.bytes.len() + test.0.bytes.len()) as u64) {
        return None;
    }
    let name = |file: &Checked| file.path.strip_prefix(folder).ok()?.to_str().map(str::to_owned);
    let names = [name(&train.0)?, name(&train.1)?, name(&test.0)?, name(&test.1)?];
    let folder = folder.to_str()?.to_owned(); // the crate takes text, and a path need not be
    let mnist = mnist::MnistBuilder::new()
        .label_format_digit()
        .base_path(&folder)
        .training_images_filename(&names[0])
        .training_labels_filename(&names[1])
        .test_images_filename(&names[2])
        .test_labels_filename(&names[3])
        .finalize();
    let split = |images, labels| Split { images, labels, rows: 28, cols: 28 };
    Some([split(mnist.trn_img, mnist.trn_lbl), split(mnist.tst_img, mnist.tst_lbl)])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Images,
    Labels,
}

/// A file whose bytes are sound.
struct Checked {
    path: PathBuf,
    packed: bool,
    /// Labels are counted, with rows and columns of 1.
    header: idx::Header,
    bytes: Vec<u8>,
    data: Range<usize>,
}

impl Checked {
    fn open(folder: &Path, name: &str, kind: Kind) -> Result<Self> {
        let path = find(folder, name)?;
        let (packed, bytes) = bytes_of(&path, kind)?;
        // Behind blanks and a byte order mark.
        let page = bytes.iter().find(|byte| byte.is_ascii_graphic()) == Some(&b'<');
        let damaged = |fault: idx::Fault| {
            let way = match fault {
                idx::Fault::Label { .. } => {
                    "keep the images of ten classes, and number them from 0"
                }
                idx::Fault::Magic { .. } if page => {
                    "it is a web page: get the file itself, which the page may link to"
                }
                _ => "get the file again",
            };
            Error::Message(format!("{} {fault}; {way}", path.display()))
        };
        let (header, data) = match kind {
            Kind::Images => idx::images(&bytes).map_err(damaged)?,
            Kind::Labels => {
                let data = idx::labels(&bytes).map_err(damaged)?;
                (idx::Header { count: data.len(), rows: 1, cols: 1 }, data)
            }
        };
        Ok(Self { path, packed, header, bytes, data })
    }

    fn goes_with(&self, labels: &Self) -> Result<()> {
        if self.header.count == labels.header.count {
            return Ok(());
        }
        Err(Error::Message(format!(
            "{} holds {} images and {} holds {} labels; they must be as many, so one of them is not of this set",
            self.path.display(),
            self.header.count,
            labels.path.display(),
            labels.header.count
        )))
    }

    fn same_size(&self, other: &Self) -> Result<()> {
        let (a, b) = (self.header, other.header);
        if (a.rows, a.cols) == (b.rows, b.cols) {
            return Ok(());
        }
        Err(Error::Message(format!(
            "{} has images of {}×{} and {} of {}×{}; both must have the same size",
            self.path.display(),
            a.rows,
            a.cols,
            other.path.display(),
            b.rows,
            b.cols
        )))
    }

    fn split(mut self, mut labels: Self) -> Split {
        self.bytes.drain(..self.data.start);
        labels.bytes.drain(..labels.data.start);
        let idx::Header { rows, cols, .. } = self.header;
        Split { images: self.bytes, labels: labels.bytes, rows, cols }
    }
}

/// Whether `bytes` are those of the published file.
pub fn is_published(bytes: &[u8], file: &Published) -> bool {
    bytes.len() as u64 == file.size && digest(bytes) == file.sha256
}

fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Which of MNIST's files `folder` has, or the one of its subfolders that has it.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    if let Some(path) = find_in(folder, name)? {
        return Ok(path);
    }
    // As torchvision (`MNIST/raw`) and Kaggle (a folder for each file) leave it.
    let near = folders(folder);
    let far: Vec<PathBuf> = near.iter().flat_map(|folder| folders(folder)).collect();
    let inside = near.iter().chain(&far).filter_map(|folder| find_in(folder, name).ok()?);
    let inside: Vec<PathBuf> = inside.collect();
    Err(Error::Message(match &inside[..] {
        [path] => return Ok(path.clone()),
        [first, second, ..] => format!(
            "{} has {name} in more than one folder: {} and {}; name the folder of one set",
            folder.display(),
            first.display(),
            second.display()
        ),
        [] if folder.is_dir() => format!(
            "{} has neither {name} nor {name}.gz; a data set is the four files {}, plain or gzip; \
             rename yours if they have other names",
            folder.display(),
            MNIST.map(|file| file.name).join(", ")
        ),
        [] => format!("{} is not a folder; name the one that holds the data set", folder.display()),
    }))
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    inside(folder).into_iter().filter(|path| path.is_dir()).collect()
}

/// The file in this very folder, under the published name or the one with a dot in place of the last hyphen but one
/// (`train-images.idx3-ubyte`), which other sites use.
fn find_in(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    let dotted = name.replacen("-idx", ".idx", 1);
    for file in [name, &format!("{name}.gz"), &dotted, &format!("{dotted}.gz")] {
        let path = folder.join(file);
        match path.metadata() {
            Ok(found) if found.is_file() => return Ok(Some(path)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Error::io(&path, error));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Whether `folder` has this file as it was published.
pub fn has(folder: &Path, file: &Published) -> bool {
    let kind = if file.name.contains("images") { Kind::Images } else { Kind::Labels };
    find(folder, file.name)
        .is_ok_and(|path| bytes_of(&path, kind).is_ok_and(|(_, bytes)| is_published(&bytes, file)))
}

/// Whether `folder` has at least one of the four files.
pub fn any(folder: &Path) -> bool {
    MNIST.iter().any(|file| find(folder, file.name).is_ok())
}

/// How a gzip file begins.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The bytes, unpacked if they are gzip, whatever the file's name says; and whether they are.
pub(super) fn unpacked<'r>(mut file: impl BufRead + 'r) -> io::Result<(bool, Box<dyn Read + 'r>)> {
    let packed = file.fill_buf()?.starts_with(&GZIP);
    Ok((packed, if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) }))
}

/// The unpacked bytes of a file, and whether it was packed: no more than its header promises, and one, so that neither a
/// wrong file nor a gzip bomb fills the memory.
fn bytes_of(path: &Path, kind: Kind) -> Result<(bool, Vec<u8>)> {
    let open = File::open(path).and_then(|file| unpacked(BufReader::new(file)));
    let (packed, file) = open.map_err(|error| Error::io(path, error))?;
    let bytes = limited(file, kind).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            if packed =>
        {
            Error::Message(format!(
                "{} is not a whole gzip file ({error}); get the file again",
                path.display()
            ))
        }
        io::ErrorKind::OutOfMemory => Error::Message(format!(
            "there is no memory for {}; end other programs, or allow more with ulimit -v",
            path.display()
        )),
        _ => Error::io(path, error),
    })?;
    Ok((packed, bytes))
}

fn limited(mut file: impl Read, kind: Kind) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.by_ref().take(idx::IMAGES_HEADER as u64).read_to_end(&mut bytes)?;
    let size = match kind {
        Kind::Images => idx::images_header(&bytes).map(idx::Header::file_size),
        Kind::Labels => idx::labels_header(&bytes).map(|n| (idx::LABELS_HEADER + n) as u64),
    };
    // A bad header is reported from the bytes read so far.
    if let Ok(size) = size {
        let rest = (size + 1).saturating_sub(bytes.len() as u64);
        file.take(rest).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
