//! The book over HTTP/1.1, for this machine alone.
//!
//! It listens on the loopback address, answers GET and HEAD with the files of one folder, and nothing
//! else. Every connection has a bounded request, time-outs and its own thread, and there is a bounded
//! number of them, so that no client can stop it for the others. A file is sent as it is read: however large it is, a
//! connection takes some kilobytes.

use crate::html::decoded;
use anyhow::{Context, Result};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The longest request: its line and its headers.
const REQUEST: usize = 16 * 1024;
/// How long a client may take to send its request.
const SEND: Duration = Duration::from_secs(5);
/// How long a client may take to send its request when all that it gets is that the server is busy.
const SEND_BUSY: Duration = Duration::from_millis(500);
/// How long a client may leave a part of the response unread. It is on this machine: a browser takes microseconds.
const READ: Duration = Duration::from_secs(2);
/// How long a response may take altogether.
const ANSWER: Duration = Duration::from_secs(30);
/// The most connections at the same time.
const CONNECTIONS: usize = 64;
/// The most further connections that are told that the server is busy.
const REFUSALS: usize = 64;

/// Asks for the version twice a second and loads the page again when it changes.
const RELOAD: &str = "<script>(() => { let was; const look = async () => { try { const now = await (await \
                      fetch('/__version')).text(); if (was !== undefined && now !== was) location.reload(); \
                      was = now; } catch { /* the server is gone; ask again */ } setTimeout(look, 500); }; \
                      look(); })();</script>";

/// A server that runs until the program ends.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    version: Arc<AtomicU64>,
}

impl Server {
    /// Serves `folder` on `port` of the loopback address, or on the next free port after it (any free
    /// one for 0).
    ///
    /// # Errors
    /// If the folder does not exist or twenty ports in a row are taken.
    pub fn start(folder: &Path, port: u16) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} is not there to be served", folder.display()))?;
        let listener = bind(port)?;
        let address = listener.local_addr()?;
        let version = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&version);
        let (open, refused) = (Arc::default(), Arc::default());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // Too many open files, most likely: let the others finish.
                    thread::sleep(Duration::from_millis(50));
                    continue;
                };
                let (busy, permit) = match Permit::take(&open, CONNECTIONS) {
                    Some(permit) => (false, permit),
                    None => (true, Permit::wait(&refused, REFUSALS)),
                };
                let (folder, seen) = (folder.clone(), Arc::clone(&seen));
                let started = thread::Builder::new().spawn(move || {
                    let _permit = permit;
                    // A client that goes away is no fault of ours.
                    let _ = handle(&stream, &folder, &seen, busy);
                });
                drop(started);
            }
        });
        Ok(Self { address, version })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells every open page to load itself again.
    pub fn changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

/// One of the connections that may be open; given back when dropped.
struct Permit(Arc<AtomicUsize>);

impl Permit {
    fn take(open: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let taken = open.fetch_add(1, Ordering::SeqCst);
        let permit = Self(Arc::clone(open));
        (taken < most).then_some(permit)
    }

    /// Waits for a slot that is soon free.
    fn wait(open: &Arc<AtomicUsize>, most: usize) -> Self {
        loop {
            match Self::take(open, most) {
                Some(permit) => return permit,
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn bind(port: u16) -> Result<TcpListener> {
    let mut last = None;
    for port in (port..=u16::MAX).take(20) {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some(error),
        }
    }
    let error = last.map_or_else(String::new, |error| format!(": {error}"));
    anyhow::bail!("no port from {port} on is free{error}; choose another with --port")
}

/// Answers one request. A `busy` server also reads it: a response to an unread request is lost to a reset.
fn handle(
    mut stream: &TcpStream,
    folder: &Path,
    version: &AtomicU64,
    busy: bool,
) -> io::Result<()> {
    stream.set_write_timeout(Some(READ))?;
    let answer = match read_request(stream, if busy { SEND_BUSY } else { SEND })? {
        None => return Ok(()),
        Some(Err(Refused { status, head })) => Answer::status(status, head),
        Some(Ok(request)) if busy => Answer {
            more: "Retry-After: 1\r\n".to_owned(),
            ..Answer::status("503 Service Unavailable", request.head)
        },
        Some(Ok(request)) => answer(&request, folder, version),
    };
    stream.write_all(answer.head().as_bytes())?;
    if !answer.head_only {
        let until = Instant::now() + ANSWER;
        match answer.body {
            Body::Text(text) => send(stream, &mut text.as_bytes(), until)?,
            Body::File(file, length) => send(stream, &mut file.take(length), until)?,
            Body::Page { file, before, behind } => {
                send(stream, &mut (&file).take(before), until)?;
                send(stream, &mut RELOAD.as_bytes(), until)?;
                send(stream, &mut (&file).take(behind), until)?;
            }
        }
    }
    stream.flush()?;
    // What the client still sends is read for a moment, or the response could be lost to a reset.
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let until = Instant::now() + Duration::from_millis(500);
    let mut rest = [0; 4096];
    while Instant::now() < until && stream.read(&mut rest).is_ok_and(|n| n > 0) {}
    Ok(())
}

/// Writes the body in parts, as long as the client takes it in time.
fn send(mut stream: &TcpStream, body: &mut dyn Read, until: Instant) -> io::Result<()> {
    let mut part = [0; 16 * 1024];
    loop {
        let n = body.read(&mut part)?;
        if n == 0 {
            return Ok(());
        }
        stream.write_all(&part[..n])?;
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// A request's method and path.
struct Request {
    head: bool,
    target: String,
}

/// What is no request that can be answered: with which status, and whether it asks for headers alone.
struct Refused {
    status: &'static str,
    head: bool,
}

/// Reads up to the end of the headers, for so long. `None` if the client hung up.
fn read_request(
    mut stream: &TcpStream,
    limit: Duration,
) -> io::Result<Option<Result<Request, Refused>>> {
    let until = Instant::now() + limit;
    let refused = |request: &[u8], status| Refused { status, head: request.starts_with(b"HEAD ") };
    let (mut request, mut part) = (Vec::new(), [0; 2048]);
    let end = loop {
        if let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if request.len() > REQUEST {
            return Ok(Some(Err(refused(&request, "431 Request Header Fields Too Large"))));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Some(Err(refused(&request, "408 Request Timeout"))));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(None),
            Ok(n) => request.extend_from_slice(&part[..n]),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    };
    Ok(Some(parse(&request[..end]).map_err(|status| refused(&request, status))))
}

/// The request line and the host (RFC 9112, sections 3 and 3.2).
fn parse(request: &[u8]) -> Result<Request, &'static str> {
    const BAD: &str = "400 Bad Request";
    let text = std::str::from_utf8(request).map_err(|_| BAD)?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or("").split(' ');
    let (Some(method), Some(target), Some(protocol), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(BAD);
    };
    let control = target.chars().any(char::is_control);
    if !matches!(protocol, "HTTP/1.1" | "HTTP/1.0") || !target.starts_with('/') || control {
        return Err(BAD);
    }
    // A page elsewhere that points its own name at this machine must not read the book.
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    if let Some(host) = host {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if !matches!(name, "127.0.0.1" | "localhost") {
            return Err("421 Misdirected Request");
        }
    }
    match method {
        "GET" => Ok(Request { head: false, target: target.to_owned() }),
        "HEAD" => Ok(Request { head: true, target: target.to_owned() }),
        _ => Err("405 Method Not Allowed"),
    }
}

enum Body {
    Text(String),
    /// A file, and how long it is.
    File(File, u64),
    /// A page, and how much of it is before and behind where [`RELOAD`] goes.
    Page {
        file: File,
        before: u64,
        behind: u64,
    },
}

struct Answer {
    status: &'static str,
    /// Further headers, each with its line's end.
    more: String,
    kind: &'static str,
    body: Body,
    head_only: bool,
}

impl Answer {
    fn status(status: &'static str, head_only: bool) -> Self {
        let body = Body::Text(format!("{status}\n"));
        let more = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" }.to_owned();
        Self { status, more, kind: "text/plain; charset=utf-8", body, head_only }
    }

    fn head(&self) -> String {
        let length = match &self.body {
            Body::Text(text) => text.len() as u64,
            Body::File(_, length) => *length,
            Body::Page { before, behind, .. } => before + RELOAD.len() as u64 + behind,
        };
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {length}\r\n{}Cache-Control: \
             no-cache\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            self.status, self.kind, self.more
        )
    }
}

fn answer(request: &Request, folder: &Path, version: &AtomicU64) -> Answer {
    let path = request.target.split(['?', '#']).next().unwrap_or("/");
    if path == "/__version" {
        let number = version.load(Ordering::Relaxed).to_string();
        return Answer {
            status: "200 OK",
            more: String::new(),
            kind: "text/plain; charset=utf-8",
            body: Body::Text(number),
            head_only: request.head,
        };
    }
    let (status, file) = match local(folder, path) {
        Some(file) if file.is_dir() => {
            // A page's links are relative, so a folder's address needs its slash.
            let more = format!("Location: /{}/\r\n", path.trim_matches('/'));
            return Answer { more, ..Answer::status("301 Moved Permanently", request.head) };
        }
        Some(file) => ("200 OK", file),
        None => ("404 Not Found", folder.join("404.html")),
    };
    let kind = mime(&file);
    let body = File::open(&file).and_then(|file| {
        let length = file.metadata()?.len();
        if !kind.starts_with("text/html") {
            return Ok(Body::File(file, length));
        }
        let before = body_end(&file, length)?;
        Ok(Body::Page { file, before, behind: length - before })
    });
    match body {
        Ok(body) => Answer { status, more: String::new(), kind, body, head_only: request.head },
        Err(_) => Answer::status("404 Not Found", request.head),
    }
}

/// Where `</body>` is in a page; its end, if it is not among the last lines. The file is at its beginning again.
fn body_end(mut file: &File, length: u64) -> io::Result<u64> {
    let from = length.saturating_sub(4096);
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut end)?;
    file.rewind()?;
    let found = end.windows(7).rposition(|bytes| bytes == b"</body>");
    Ok(found.map_or(length, |at| from + at as u64).min(length))
}

/// The file or folder that `path` names inside `folder`; `None` if there is none, or it is outside: by `..`, by a
/// link, by a path of another system.
fn local(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = decoded(path)?;
    if path.contains(['\0', '\\', ':']) {
        return None;
    }
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let mut file = folder.to_owned();
    for part in parts {
        if part == ".." || part.starts_with('.') {
            return None;
        }
        file.push(part);
    }
    if path.ends_with('/') && file.is_dir() {
        file.push("index.html");
    }
    let file = file.canonicalize().ok()?;
    (file.starts_with(folder) && (file.is_file() || file.is_dir())).then_some(file)
}

/// The type of a file, by its name.
fn mime(file: &Path) -> &'static str {
    match file.extension().and_then(|ext| ext.to_str()).unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "ipynb" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
