//! MNIST and Fashion-MNIST over HTTPS: from several mirrors, verified, and never half written.
//!
//! A file arrives packed in `NAME.gz.part`, which an interrupted run leaves for the next one to go on
//! with. Once whole, it is unpacked into `NAME.new`, its checksum is compared, and only then does it get its
//! name. So a file with its right name is always a right one.

use super::files::{self, GZIP, Published};
use crate::{Error, Result, names::variable, progress::Progress};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// Where MNIST is kept by others; tried in this order.
pub const MIRRORS: [&str; 3] = [
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://raw.githubusercontent.com/fgnt/mnist/master/",
];

/// Where Fashion-MNIST is kept: by its authors, and by TensorFlow.
pub const FASHION_MIRRORS: [&str; 2] = [
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
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
    let way = if reasons.iter().any(|reason| reason.contains(UNBELIEVED)) { BELIEVE } else { "" };
    let reasons = reasons.join("; ");
    Err(Error::Message(format!("{} could not be downloaded: {reasons}{way}", file.name)))
}

/// A file in transfer.
struct Part<'a> {
    file: &'a Published,
    /// The packed bytes so far.
    packed: PathBuf,
    /// The mirror that they come from.
    origin: PathBuf,
    /// The unpacked bytes, which get their name when all of them are there.
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

    fn is_from(&self, mirror: &str) -> bool {
        self.size() > 0 && fs::read_to_string(&self.origin).is_ok_and(|from| from == mirror)
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
        let mut answer = self.ask(mirror, here).map_err(|error| Failure::There(plainly(&error)))?;
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

    fn ask(&self, mirror: &str, here: u64) -> Result<Answer, ureq::Error> {
        let ask = |roots| {
            let mut config = ureq::Agent::config_builder()
                .user_agent("throughput-course")
                .http_status_as_error(false)
                .https_only(mirror.starts_with("https://"))
                .tls_config(TlsConfig::builder().root_certs(roots).build())
                .timeout_resolve(Some(SILENCE / 2))
                .timeout_connect(Some(SILENCE / 2))
                .timeout_recv_response(Some(SILENCE))
                .timeout_per_read(Some(SILENCE));
            if mirror.starts_with("http://127.0.0.1") {
                config = config.proxy(None); // no proxy reaches this machine's own loopback
            }
            let agent = ureq::Agent::new_with_config(config.build());
            let request = agent.get(format!("{mirror}{}.gz", self.file.name));
            // A file that was another by then has another checksum, and begins anew.
            let range = (here > 0).then(|| format!("bytes={here}-"));
            range.into_iter().fold(request, |request, range| request.header("Range", range)).call()
        };
        let (first, second) = believed();
        match (ask(first), second) {
            (Err(error), Some(second)) if is_unbelieved(&error) => ask(second),
            (answer, _) => answer,
        }
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
        let rest = header(answer, "content-length").and_then(|text| text.parse::<u64>().ok());
        let total = rest.map(|rest| start + rest);
        // A packed file is smaller than the file; one that is larger is something else.
        let limit = self.file.size + 4096;
        let mut open = OpenOptions::new();
        let open = if start > 0 {
            open.append(true)
        } else {
            fs::write(&self.origin, mirror)
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
        // A mirror may unpack before sending; the bytes are then the file's own.
        let (_, packed) = files::unpacked(&self.packed).map_err(here)?;
        let mut bytes = Vec::new();
        match packed.take(self.file.size + 1).read_to_end(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(Failure::Broken("sent a file cut short".into()));
            }
            Ok(_) if files::is_published(&bytes, self.file) => {}
            _ => {
                self.forget();
                let reason = "sent a file whose checksum (SHA-256) is not the published one";
                return Err(Failure::There(reason.into()));
            }
        }
        let write = || {
            let mut file = File::create(&self.unpacked)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&self.unpacked);
            here(error)
        })?;
        if self.target.exists() {
            // What was there under this name is not the published file, but the user may need it.
            let aside = self.target.with_extension("replaced");
            fs::rename(&self.target, aside).map_err(here)?;
        }
        fs::rename(&self.unpacked, &self.target).map_err(here)?;
        self.forget();
        Ok(())
    }
}

type Answer = ureq::http::Response<ureq::Body>;

/// Whose certificates are believed, first and else: those of the file that `SSL_CERT_FILE` names, or the list of browsers and
/// then the system's, which a company may have put its own into.
fn believed() -> (RootCerts, Option<RootCerts>) {
    const SYSTEM: [&str; 3] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ];
    let named = variable("SSL_CERT_FILE").and_then(|file| roots(Path::new(&file)));
    match named {
        Some(named) => (named, None),
        None => (RootCerts::WebPki, SYSTEM.iter().find_map(|file| roots(Path::new(file)))),
    }
}

/// The certificates of a file, if it has some.
fn roots(file: &Path) -> Option<RootCerts> {
    let text = fs::read(file).ok()?;
    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    (!certificates.is_empty()).then(|| certificates.into())
}

fn is_unbelieved(error: &ureq::Error) -> bool {
    error.to_string().contains("invalid peer certificate")
}

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

const UNBELIEVED: &str = "shows a certificate that is not believed";
const BELIEVE: &str = "; behind a company's proxy name the file with its root certificate in SSL_CERT_FILE, or get the \
                       files with a browser and name their folder with --data";

/// What went wrong on the way to a mirror, as the end of a sentence that begins with its name.
fn plainly(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "was not found (is there a network?)".to_owned(),
        ureq::Error::Timeout(_) => "did not answer in time".to_owned(),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "refused the connection".to_owned()
        }
        error if is_unbelieved(error) => format!("{UNBELIEVED} ({error})"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_believed_is_said_with_the_way() {
        let error = io::Error::other("invalid peer certificate: UnknownIssuer");
        let error = ureq::Error::Io(error);
        assert!(is_unbelieved(&error) && plainly(&error).starts_with(UNBELIEVED));
        assert!(BELIEVE.contains("SSL_CERT_FILE") && BELIEVE.contains("--data"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("root.pem");
        assert!(roots(&file).is_none());
        for (text, some) in [("no certificate", false), (ROOT, true)] {
            fs::write(&file, text).unwrap();
            assert_eq!(roots(&file).is_some(), some);
        }
    }

    const ROOT: &str = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
}
