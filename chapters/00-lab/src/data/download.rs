//! MNIST over HTTPS: from several mirrors, verified, and never half written.
//!
//! A file arrives packed in `NAME.gz.part`, which an interrupted run leaves for the next one to go on
//! with. Once whole, it is unpacked into `NAME.new`, its checksum is compared, and only then does it get its
//! name. So a file with its right name is always a right one.

use super::files::{self, Published};
use crate::{Error, Result, progress::Progress};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Where MNIST is kept by others; tried in this order.
pub const MIRRORS: [&str; 3] = [
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://raw.githubusercontent.com/fgnt/mnist/master/",
];

/// Told about a download: the file's name, bytes so far, and bytes in all where the mirror reports them.
pub type Watch<'a> = &'a mut dyn FnMut(&str, u64, Option<u64>);

/// Shows downloads on the terminal: a bar for each file.
#[derive(Default)]
pub struct Bars {
    now: Option<(String, Progress, u64)>,
}

impl Bars {
    /// What a [`Watch`] is told.
    pub fn show(&mut self, name: &str, done: u64, total: Option<u64>) {
        let goes_on = self.now.as_ref().is_some_and(|(now, _, at)| now == name && *at <= done);
        if !goes_on {
            self.finish();
            self.now =
                Some((name.to_owned(), Progress::bytes(format!("downloading {name}"), total), 0));
        }
        if let Some((_, bar, at)) = &mut self.now {
            bar.inc(done - *at);
            *at = done;
        }
    }

    /// Takes the last bar away.
    pub fn finish(&mut self) {
        if let Some((_, bar, _)) = self.now.take() {
            bar.finish();
        }
    }
}

/// How often one mirror may break off and be asked for the rest.
const ATTEMPTS: usize = 4;
/// A mirror that sends nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(10);

/// How long a download may take. What has come is kept, and the next one goes on with it.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For all files together: enough for 20 kB/s. A mirror may send a byte now and then forever.
    pub whole: Duration,
    /// For another program that downloads the same, or was stopped while it did.
    pub other: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { whole: Duration::from_mins(10), other: Duration::from_mins(2) }
    }
}

/// Why a file did not come.
enum Failure {
    /// This machine can't take it; no other mirror will help.
    Here(Error),
    /// This mirror can't give it.
    There(String),
    /// The connection broke; what has come is kept.
    Broken(String),
}

/// Brings those of `published` that `folder` lacks into it.
///
/// Two programs that do this at once wait for each other.
///
/// # Errors
/// One sentence: what this machine refused (no permission, full disk), or what each mirror did.
pub fn fetch(
    folder: &Path,
    mirrors: &[&str],
    published: &[Published],
    patience: Patience,
    watch: Watch,
) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| refused(folder, error))?;
    let _lock = lock(&folder.join("download.lock"), patience.other)?;
    let until = Instant::now() + patience.whole;
    for file in published {
        if !files::has(folder, file) {
            one(folder, mirrors, file, until, watch)?;
        }
    }
    Ok(())
}

/// The file, locked by this program alone.
fn lock(path: &Path, patience: Duration) -> Result<File> {
    let lock = File::create(path).map_err(|error| refused(path, error))?;
    let until = Instant::now() + patience;
    let mut waiting = None;
    // Some network file systems have no locks; a download there is as safe as its renames.
    while let Err(TryLockError::WouldBlock) = lock.try_lock() {
        if Instant::now() >= until {
            return Err(Error::Message(format!(
                "another program has been downloading the same files, or was stopped while it did ({} is locked); \
                 end it and try again",
                path.display()
            )));
        }
        waiting.get_or_insert_with(|| Progress::spinner("waiting for another program's download"));
        thread::sleep(Duration::from_millis(50));
    }
    if let Some(waiting) = waiting {
        waiting.finish();
    }
    Ok(lock)
}

/// Brings one file from the first mirror that has it.
fn one(
    folder: &Path,
    mirrors: &[&str],
    file: &Published,
    until: Instant,
    watch: Watch,
) -> Result<()> {
    let part = Part::new(folder, file, until);
    let mut reasons = Vec::new();
    // A part can only be continued from the mirror that it came from: packed files differ.
    let mut order: Vec<&str> = mirrors.to_vec();
    order.sort_by_key(|mirror| !part.is_from(mirror));
    for mirror in order {
        let mut attempt = 0;
        let reason = loop {
            let before = part.size();
            attempt += 1;
            match part.continue_from(mirror, watch) {
                Ok(()) => return Ok(()),
                Err(Failure::Here(error)) => return Err(error),
                Err(Failure::Broken(_)) if attempt < ATTEMPTS && part.size() > before => {}
                Err(Failure::There(reason) | Failure::Broken(reason)) => break reason,
            }
        };
        reasons.push(format!("{} {reason}", host(mirror)));
        if part.is_late() {
            break; // another mirror would have to begin anew
        }
    }
    Err(Error::Message(format!("{} could not be downloaded: {}", file.name, reasons.join("; "))))
}

/// A file in transfer.
struct Part<'a> {
    file: &'a Published,
    /// The packed bytes so far.
    packed: PathBuf,
    /// Where they come from: the mirror and, if it gave one, the version of its file.
    origin: PathBuf,
    /// The unpacked bytes before they are verified.
    unpacked: PathBuf,
    target: PathBuf,
    /// When the download has taken too long.
    until: Instant,
}

impl<'a> Part<'a> {
    fn new(folder: &Path, file: &'a Published, until: Instant) -> Self {
        let path = |end: &str| folder.join(format!("{}{end}", file.name));
        Self {
            file,
            packed: path(".gz.part"),
            origin: path(".gz.part.from"),
            unpacked: path(".new"),
            target: path(""),
            until,
        }
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    fn size(&self) -> u64 {
        self.packed.metadata().map_or(0, |found| found.len())
    }

    /// The mirror and the version of the packed bytes.
    fn origin(&self) -> Option<(String, String)> {
        let text = fs::read_to_string(&self.origin).ok()?;
        let (mirror, version) = text.split_once('\n')?;
        Some((mirror.to_owned(), version.trim_end().to_owned()))
    }

    fn is_from(&self, mirror: &str) -> bool {
        self.size() > 0 && self.origin().is_some_and(|(from, _)| from == mirror)
    }

    fn forget(&self) {
        let _ = fs::remove_file(&self.packed);
        let _ = fs::remove_file(&self.origin);
    }
    /// Asks `mirror` for what is missing, then unpacks and verifies the whole.
    fn continue_from(&self, mirror: &str, watch: Watch) -> Result<(), Failure> {
        if self.is_from(mirror) && self.finish().is_ok() {
            return Ok(()); // it was whole: the last run stopped before it could verify it
        }
        let here = if self.is_from(mirror) { self.size() } else { 0 };
        let mut answer = self.ask(mirror, here)?;
        let start = match answer.status().as_u16() {
            206 if starts_at(&answer, here) => here,
            200 => 0,
            // The part is longer than the mirror's file, or the mirror counts otherwise.
            206 | 416 => {
                self.forget();
                return Err(Failure::Broken("gave another part than the one asked for".into()));
            }
            status => return Err(Failure::There(format!("answered with status {status}"))),
        };
        self.receive(mirror, &mut answer, start, watch)?;
        self.finish()
    }

    fn ask(&self, mirror: &str, here: u64) -> Result<Answer, Failure> {
        let mut config = ureq::Agent::config_builder()
            .user_agent("throughput-course")
            .http_status_as_error(false)
            .https_only(mirror.starts_with("https://"))
            .timeout_resolve(Some(SILENCE / 2))
            .timeout_connect(Some(SILENCE / 2))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE));
        if mirror.starts_with("http://127.0.0.1") {
            config = config.proxy(None); // no proxy reaches this machine's own loopback
        }
        let agent = ureq::Agent::new_with_config(config.build());
        let mut request = agent.get(format!("{mirror}{}.gz", self.file.name));
        if here > 0 {
            request = request.header("Range", format!("bytes={here}-"));
            if let Some((_, version)) = self.origin()
                && version.starts_with('"')
            {
                request = request.header("If-Range", version);
            }
        }
        request.call().map_err(|error| Failure::There(plainly(&error)))
    }

    /// Writes the reply's body behind the first `start` bytes of the part.
    fn receive(
        &self,
        mirror: &str,
        answer: &mut Answer,
        start: u64,
        watch: Watch,
    ) -> Result<(), Failure> {
        let here = |error| Failure::Here(refused(&self.packed, error));
        let version = header(answer, "etag").unwrap_or_default();
        let rest = header(answer, "content-length").and_then(|text| text.parse::<u64>().ok());
        let total = rest.map(|rest| start + rest);
        // A packed file is smaller than the file; one that is larger is something else.
        let limit = self.file.size + 4096;
        let mut open = OpenOptions::new();
        let open = if start > 0 {
            open.append(true)
        } else {
            fs::write(&self.origin, format!("{mirror}\n{version}\n"))
                .map_err(|error| Failure::Here(refused(&self.origin, error)))?;
            open.write(true).create(true).truncate(true)
        };
        let mut file = open.open(&self.packed).map_err(here)?;
        let mut body = answer.body_mut().as_reader();
        let (mut done, mut buffer) = (start, vec![0; 1 << 16]);
        loop {
            watch(self.file.name, done, total);
            if self.is_late() {
                return Err(Failure::There(format!(
                    "is too slow: {done} bytes came in time; the next try goes on behind them"
                )));
            }
            let count = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Failure::Broken(format!("broke off ({error})"))),
            };
            if done == 0 && !looks_right(&buffer[..count]) {
                self.forget();
                return Err(Failure::There("answered with something else, such as a page".into()));
            }
            done += count as u64;
            if done > limit {
                self.forget();
                return Err(Failure::There(format!("sent more than {limit} bytes")));
            }
            file.write_all(&buffer[..count]).map_err(here)?;
        }
        match total {
            Some(total) if done < total => {
                Err(Failure::Broken(format!("broke off at {done} of {total} bytes")))
            }
            _ => Ok(()),
        }
    }

    /// Unpacks, verifies, and gives the file its name.
    fn finish(&self) -> Result<(), Failure> {
        let here = |error| Failure::Here(refused(&self.unpacked, error));
        let (size, sha256) = match self.unpack() {
            Ok(found) => found,
            Err(Unpack::Write(error)) => {
                let _ = fs::remove_file(&self.unpacked);
                return Err(here(error));
            }
            Err(Unpack::Short) => return Err(Failure::Broken("sent a file cut short".into())),
            Err(Unpack::Damaged) => (0, String::new()),
        };
        if size != self.file.size || sha256 != self.file.sha256 {
            let _ = fs::remove_file(&self.unpacked);
            self.forget();
            let reason = "sent a file whose checksum (SHA-256) is not the published one";
            return Err(Failure::There(reason.into()));
        }
        if self.target.exists() {
            // What was there under this name is not MNIST, but the user may need it.
            let aside = self.target.with_extension("replaced");
            fs::rename(&self.target, aside).map_err(here)?;
        }
        fs::rename(&self.unpacked, &self.target).map_err(here)?;
        self.forget();
        Ok(())
    }

    /// Unpacks into `NAME.new`: its size and SHA-256. Stops a byte after the size it should have.
    fn unpack(&self) -> Result<(u64, String), Unpack> {
        let mut packed = File::open(&self.packed).map_err(Unpack::Write)?;
        let mut first = [0; 2];
        let is_gzip = packed.read(&mut first).is_ok_and(|count| count == 2) && first == GZIP;
        let packed = File::open(&self.packed).map_err(Unpack::Write)?;
        // A mirror may unpack before sending; the bytes are then the file's own.
        let packed: Box<dyn Read> =
            if is_gzip { Box::new(MultiGzDecoder::new(packed)) } else { Box::new(packed) };
        let mut packed = packed.take(self.file.size + 1);
        let mut file = File::create(&self.unpacked).map_err(Unpack::Write)?;
        let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            let count = match packed.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) => {
                    let _ = fs::remove_file(&self.unpacked);
                    let short = error.kind() == io::ErrorKind::UnexpectedEof;
                    return Err(if short { Unpack::Short } else { Unpack::Damaged });
                }
            };
            size += count as u64;
            hash.update(&buffer[..count]);
            file.write_all(&buffer[..count]).map_err(Unpack::Write)?;
        }
        file.sync_all().map_err(Unpack::Write)?;
        Ok((size, format!("{:x}", hash.finalize())))
    }
}

type Answer = ureq::http::Response<ureq::Body>;

/// Why unpacking stopped.
enum Unpack {
    /// The part ends before its file does.
    Short,
    /// It is no gzip file, or a damaged one.
    Damaged,
    /// This machine could not write it.
    Write(io::Error),
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Whether a download begins like gzip, or like an IDX file that the mirror has unpacked.
fn looks_right(bytes: &[u8]) -> bool {
    let begins = |start: &[u8]| bytes.iter().zip(start).all(|(a, b)| a == b);
    begins(&GZIP) || begins(&[0, 0, 8])
}

fn header(answer: &Answer, name: &str) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// Whether a partial reply goes on where the part ends.
fn starts_at(answer: &Answer, here: u64) -> bool {
    header(answer, "content-range").is_some_and(|range| {
        let start = range.trim_start_matches("bytes ").split('-').next();
        start.and_then(|start| start.parse().ok()) == Some(here)
    })
}

/// The host of a mirror, for messages.
fn host(mirror: &str) -> &str {
    mirror.split("//").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or(mirror)
}

/// What went wrong on the way to a mirror, as the end of a sentence that begins with its name.
fn plainly(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "was not found (is there a network?)".to_owned(),
        ureq::Error::Timeout(_) => "did not answer in time".to_owned(),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "refused the connection".to_owned()
        }
        error => format!("could not be reached ({error})"),
    }
}

/// What this machine refused, and what to do.
fn refused(path: &Path, error: io::Error) -> Error {
    let path_text = path.display();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Message(format!(
            "the disk is full: {path_text} could not be written; free 70 MB, or name a folder elsewhere with MNIST_DIR"
        )),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::Message(format!(
                "{path_text} may not be written; name a folder that holds the data with MNIST_DIR, or a cache folder that may be written with XDG_CACHE_HOME"
            ))
        }
        _ => Error::io(path, error),
    }
}
