//! MNIST and Fashion-MNIST over HTTPS: from several mirrors, verified, and never half written.
//!
//! A file arrives packed, is unpacked and compared with its checksum in memory, and only then written under another name and
//! renamed. So a file with its right name is always a right one.

use super::files::{self, GZIP, Published};
use crate::{
    Error, Result,
    names::variable,
    progress::Progress,
    run::disk::{self, File},
};
use std::{
    fs,
    io::{self, Read, Write},
    path::Path,
    process, thread,
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
    now: Option<(String, Progress)>,
}

impl Bars {
    /// What a [`Watch`] is told.
    pub fn show(&mut self, name: &str, done: u64, total: Option<u64>) {
        if self.now.as_ref().is_none_or(|(now, _)| now != name) {
            self.finish();
            let bar = Progress::bytes(format!("downloading {name}"), total);
            self.now = Some((name.to_owned(), bar));
        }
        if let Some((_, bar)) = &self.now {
            bar.set(done);
        }
    }

    /// Takes the last bar away.
    pub fn finish(&mut self) {
        if let Some((_, bar)) = self.now.take() {
            bar.finish();
        }
    }
}

/// A mirror that sends nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(10);

/// How long a download of all files may take: enough for 20 kB/s. A mirror may send a byte now and then forever.
pub const PATIENCE: Duration = Duration::from_mins(10);

/// Brings those of `published` that `folder` lacks into it.
///
/// # Errors
/// One sentence: what this machine refused (no permission, full disk), or what each mirror did.
pub fn fetch(
    folder: &Path,
    mirrors: &[&str],
    published: &[Published],
    patience: Duration,
    watch: Watch,
) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| refused(folder, error))?;
    let until = Instant::now() + patience;
    for file in published {
        if !files::has(folder, file) {
            let bytes = from_any(mirrors, file, until, watch)?;
            keep(folder, file, &bytes).map_err(|error| refused(&folder.join(file.name), error))?;
        }
    }
    Ok(())
}

/// The file from the first mirror that has it.
fn from_any(mirrors: &[&str], file: &Published, until: Instant, watch: Watch) -> Result<Vec<u8>> {
    let mut reasons = Vec::new();
    for mirror in mirrors {
        match from(mirror, file, until, watch) {
            Ok(bytes) => return Ok(bytes),
            Err(reason) => reasons.push(format!("{} {reason}", host(mirror))),
        }
        if Instant::now() >= until {
            break; // another mirror would have to begin anew
        }
    }
    let way = if reasons.iter().any(|reason| reason.contains(UNBELIEVED)) { BELIEVE } else { "" };
    let reasons = reasons.join("; ");
    Err(Error::Message(format!("{} could not be downloaded: {reasons}{way}", file.name)))
}

/// The file from this mirror, unpacked and verified, or what the mirror did instead.
fn from(mirror: &str, file: &Published, until: Instant, watch: Watch) -> Result<Vec<u8>, String> {
    let mut answer = ask(mirror, file).map_err(|error| plainly(&error))?;
    let status = answer.status().as_u16();
    if status != 200 {
        return Err(format!("answered with status {status}"));
    }
    let total = answer.body().content_length();
    // A packed file is smaller than the file; one that is larger is something else.
    let limit = file.size as usize + 4096;
    let mut body = answer.body_mut().as_reader();
    let (mut packed, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let done = packed.len();
        watch(file.name, done as u64, total);
        if Instant::now() >= until {
            return Err(format!(
                "is too slow: {done} bytes came in time; files that came whole are kept for the next try"
            ));
        }
        match body.read(&mut buffer) {
            Ok(0) => match total.filter(|total| *total > done as u64) {
                Some(total) => return Err(format!("broke off at {done} of {total} bytes")),
                None => break,
            },
            Ok(count) => packed.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("broke off at {done} bytes ({error})")),
        }
        if !looks_right(&packed) {
            return Err("answered with something else, such as a page".into());
        }
        if packed.len() > limit {
            return Err(format!("sent more than {limit} bytes"));
        }
    }
    let mut bytes = Vec::new();
    // A mirror may unpack before sending; the bytes are then the file's own.
    let unpacked = files::unpacked(&packed[..])
        .and_then(|(_, reader)| reader.take(file.size + 1).read_to_end(&mut bytes));
    match unpacked {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err("sent a file cut short".into())
        }
        Ok(_) if files::is_published(&bytes, file) => Ok(bytes),
        _ => Err("sent a file whose checksum (SHA-256) is not the published one".into()),
    }
}

/// Writes the file beside its place, and renames it.
fn keep(folder: &Path, file: &Published, bytes: &[u8]) -> io::Result<()> {
    let target = folder.join(file.name);
    // Two that bring it at once do not write into one file.
    let own = format!("{}.{}.{:?}.new", file.name, process::id(), thread::current().id());
    let part = folder.join(own);
    let write = || {
        let mut new = File::create(&part)?;
        new.write_all(bytes)?;
        new.sync_all()?;
        if target.exists() && !files::has(folder, file) {
            // What was there under this name is not the published file, but the user may need it.
            let mut aside = target.with_added_extension("replaced");
            while aside.exists() {
                aside.add_extension("replaced");
            }
            disk::rename(&target, &aside)?;
        }
        disk::rename(&part, &target)
    };
    write().inspect_err(|_| drop(fs::remove_file(&part)))
}

fn ask(mirror: &str, file: &Published) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
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
        agent.get(format!("{mirror}{}.gz", file.name)).call()
    };
    let (first, second) = believed();
    match (ask(first), second) {
        (Err(error), Some(second)) if is_unbelieved(&error) => ask(second),
        (answer, _) => answer,
    }
}

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
