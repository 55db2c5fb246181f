//! The book over HTTP: the files of one folder, for this machine alone.
//!
//! [`lab::serve`] bounds what a client can make long. A file is sent as it is read: however large it is, a connection takes
//! some kilobytes.

use crate::html::decoded;
use anyhow::{Context, Result};
use lab::serve::{Options, Refused, Reply, Request, Response, TEXT};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Asks for the version twice a second and loads the page again when it changes.
const RELOAD: &str = "<script>(() => { let was; const look = async () => { try { const now = await (await \
                      fetch('/__version')).text(); if (was !== undefined && now !== was) location.reload(); \
                      was = now; } catch { /* the server is gone; ask again */ } setTimeout(look, 500); }; \
                      look(); })();</script>";

/// A server that runs until it is dropped.
pub struct Server {
    http: lab::serve::Server,
    version: Arc<AtomicU64>,
}

impl Server {
    /// Serves `folder` on `port` of the loopback address, or on the next free port after it (any free
    /// one for 0). It may be called by an address, `localhost` and the names `hosts`.
    ///
    /// # Errors
    /// If the folder does not exist or twenty ports in a row are taken.
    pub fn start(folder: &Path, port: u16, hosts: &[String]) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} is not there to be served", folder.display()))?;
        let version = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&version);
        let options = Options { port, ports: 20, hosts: hosts.to_vec(), ..Options::default() };
        let answer = move |request: &Request, reply: &Reply| answer(request, reply, &folder, &seen);
        Ok(Self { http: lab::serve::Server::start(options, answer)?, version })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// Tells every open page to load itself again.
    pub fn changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

fn answer(
    request: &Request,
    reply: &Reply,
    folder: &Path,
    version: &AtomicU64,
) -> Result<(), Refused> {
    let path = request.path.as_str();
    if request.method != "GET" {
        return Err(Refused::method("GET, HEAD", "the book is only read"));
    }
    if path == "/__version" {
        let number = version.load(Ordering::Relaxed).to_string();
        reply.text(Response { status: "200 OK", kind: TEXT, more: "" }, &number);
        return Ok(());
    }
    let (status, file) = match local(folder, path) {
        Some(file) if file.is_dir() => {
            // A page's links are relative, so a folder's address needs its slash.
            let (status, kind) = ("301 Moved Permanently", TEXT);
            let more = &format!("Location: /{}/\r\n", path.trim_matches('/'));
            reply.text(Response { status, kind, more }, "a folder's address ends with a slash\n");
            return Ok(());
        }
        Some(file) => ("200 OK", file),
        None => ("404 Not Found", folder.join("404.html")),
    };
    let response = Response { status, kind: mime(&file), more: "" };
    send(reply, response, &file)
        .map_err(|_| Refused::new("404 Not Found", "the book has no such page"))
}

/// Sends a file; if it is a page, with [`RELOAD`] in it.
fn send(reply: &Reply, response: Response<'_>, file: &Path) -> io::Result<()> {
    let file = File::open(file)?;
    let length = file.metadata()?.len();
    if !response.kind.starts_with("text/html") {
        reply.send(response, length, &mut &file);
        return Ok(());
    }
    let before = body_end(&file, length)?;
    let mut page = (&file).take(before).chain(RELOAD.as_bytes()).chain(&file);
    reply.send(response, length + RELOAD.len() as u64, &mut page);
    Ok(())
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
        "txt" => TEXT,
        _ => "application/octet-stream",
    }
}
