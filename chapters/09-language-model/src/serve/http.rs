//! Just enough HTTP/1.1 (RFC 9112): one request a connection, with limits on all that a client can make long.
//!
//! The crate `httparse` reads the head: a parser without allocation that hyper uses, and that the course's downloader has
//! brought already. The rest is the standard library: a server of a few clients needs no asynchronous runtime, and each thread
//! here reads from top to bottom.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

/// The longest request line and headers together.
const HEAD: usize = 16 << 10;

/// The most headers.
const HEADERS: usize = 64;

/// How long a client may take for its request, and how large the body may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body: usize,
    /// The longest time until the request is complete.
    pub request: Duration,
    /// The longest time that a client may leave a part of the response unread.
    pub write: Duration,
}

/// A request that was read.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path, without what follows a question mark.
    pub path: String,
    /// The body's bytes.
    pub body: Vec<u8>,
    /// The header `Host`.
    pub host: Option<String>,
    /// The header `Origin`, which browsers send.
    pub origin: Option<String>,
    /// Whether the client speaks HTTP/1.1, and so knows chunks.
    pub chunks: bool,
}

/// A status, and the sentence that goes with it.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Such as `400 Bad Request`.
    pub status: &'static str,
    /// What was wrong.
    pub why: String,
}

impl Refused {
    /// A refusal.
    pub fn new(status: &'static str, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    /// A request that can't be understood.
    pub fn bad(why: impl Into<String>) -> Self {
        Self::new("400 Bad Request", why)
    }
}

/// Reads a request. Nothing if the client has hung up or is too slow to be told so.
///
/// # Errors
/// Those of the connection.
pub fn read(stream: &TcpStream, limits: &Limits) -> io::Result<Option<Result<Request, Refused>>> {
    let mut reader = Reader { stream, until: Instant::now() + limits.request, got: Vec::new() };
    let end = loop {
        if let Some(end) = reader.got.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end + 4;
        }
        if reader.got.len() > HEAD {
            let why = format!("the request's head is longer than {HEAD} bytes");
            return Ok(Some(Err(Refused::new("431 Request Header Fields Too Large", why))));
        }
        match reader.more()? {
            More::Bytes => {}
            More::End => return Ok(None),
            More::Late => return Ok(Some(Err(late(limits)))),
        }
    };
    let (mut request, length) = match head(&reader.got[..end], limits) {
        Ok(head) => head,
        Err(refused) => return Ok(Some(Err(refused))),
    };
    if length.continues && reader.got.len() < end + length.body {
        (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    while reader.got.len() < end + length.body {
        match reader.more()? {
            More::Bytes => {}
            More::End => return Ok(None),
            More::Late => return Ok(Some(Err(late(limits)))),
        }
    }
    request.body = reader.got[end..end + length.body].to_vec();
    Ok(Some(Ok(request)))
}

fn late(limits: &Limits) -> Refused {
    let seconds = limits.request.as_secs_f64();
    Refused::new("408 Request Timeout", format!("the request was not complete after {seconds} s"))
}

/// What a head says about the body.
struct Length {
    body: usize,
    /// Whether the client waits for a word before it sends the body.
    continues: bool,
}

/// The request line and the headers, up to the empty line.
fn head(bytes: &[u8], limits: &Limits) -> Result<(Request, Length), Refused> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(status) if status.is_complete() => {}
        Err(httparse::Error::TooManyHeaders) => {
            let why = format!("the request has more than {HEADERS} headers");
            return Err(Refused::new("431 Request Header Fields Too Large", why));
        }
        _ => return Err(Refused::bad("this is no HTTP request")),
    }
    let target = parsed.path.unwrap_or_default();
    let all = |name: &str| {
        let of = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        of.map(|header| header.value).collect::<Vec<_>>()
    };
    let text = |name: &str| match all(name)[..] {
        [] => Ok(None),
        [value] => str::from_utf8(value)
            .map(|value| Some(value.trim().to_owned()))
            .map_err(|_| Refused::bad(format!("the header {name} is no text"))),
        _ => Err(Refused::bad(format!("the header {name} comes twice"))),
    };
    if text("transfer-encoding")?.is_some() {
        let why = "the body must come with a Content-Length, not in chunks";
        return Err(Refused::new("411 Length Required", why));
    }
    let body = match text("content-length")? {
        None => 0,
        Some(digits) if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) => {
            return Err(Refused::bad("the Content-Length is no number"));
        }
        Some(digits) => digits.parse().unwrap_or(usize::MAX),
    };
    if body > limits.body {
        let why = format!("the body has {body} bytes; this server takes up to {}", limits.body);
        return Err(Refused::new("413 Content Too Large", why));
    }
    let continues = text("expect")?.is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: target.split(['?', '#']).next().unwrap_or_default().to_owned(),
        body: Vec::new(),
        host: text("host")?,
        origin: text("origin")?,
        chunks: parsed.version == Some(1),
    };
    Ok((request, Length { body, continues }))
}

/// What a client has sent so far, and until when it may send more.
struct Reader<'s> {
    stream: &'s TcpStream,
    until: Instant,
    got: Vec<u8>,
}

enum More {
    Bytes,
    End,
    Late,
}

impl Reader<'_> {
    fn more(&mut self) -> io::Result<More> {
        let mut part = [0; 4096];
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(More::Late);
            }
            self.stream.set_read_timeout(Some(left))?;
            match (&mut &*self.stream).read(&mut part) {
                Ok(0) => return Ok(More::End),
                Ok(n) => {
                    self.got.extend_from_slice(&part[..n]);
                    return Ok(More::Bytes);
                }
                Err(error) if is_late(&error) || error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether the client has closed its side, or broken the connection. What it sends besides is thrown away.
pub fn is_gone(stream: &TcpStream) -> bool {
    let mut part = [0; 512];
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let gone = match (&mut &*stream).read(&mut part) {
        Ok(n) => n == 0,
        Err(error) => !is_late(&error) && error.kind() != ErrorKind::Interrupted,
    };
    stream.set_nonblocking(false).is_err() || gone
}

/// A response: a status, further headers, a type.
#[derive(Clone, Debug)]
pub struct Response {
    /// Such as `200 OK`.
    pub status: &'static str,
    /// Such as `application/json`.
    pub kind: &'static str,
    /// Further headers, each with its line's end.
    pub more: String,
}

impl Response {
    /// A response with this type and no further headers.
    pub fn new(status: &'static str, kind: &'static str) -> Self {
        Self { status, kind, more: String::new() }
    }

    fn head(&self, length: &str) -> String {
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\n{length}{}Cache-Control: no-store\r\nX-Content-Type-Options: \
             nosniff\r\nConnection: close\r\n\r\n",
            self.status, self.kind, self.more
        )
    }

    /// Sends it with its whole body.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn send(&self, mut stream: &TcpStream, body: &[u8], limits: &Limits) -> io::Result<()> {
        stream.set_write_timeout(Some(limits.write))?;
        stream.write_all(self.head(&format!("Content-Length: {}\r\n", body.len())).as_bytes())?;
        stream.write_all(body)?;
        close(stream)
    }

    /// Sends the head of a body that comes in parts, and ends with [`Parts::end`].
    ///
    /// # Errors
    /// Those of the connection.
    pub fn begin<'s>(
        &self,
        mut stream: &'s TcpStream,
        chunks: bool,
        limits: &Limits,
    ) -> io::Result<Parts<'s>> {
        stream.set_write_timeout(Some(limits.write))?;
        stream.set_nodelay(true)?;
        let length = if chunks { "Transfer-Encoding: chunked\r\n" } else { "" };
        stream.write_all(self.head(length).as_bytes())?;
        Ok(Parts { stream, chunks })
    }
}

/// A body that is sent part by part: in chunks, or until the connection ends for a client of HTTP/1.0.
pub struct Parts<'s> {
    stream: &'s TcpStream,
    chunks: bool,
}

impl Parts<'_> {
    /// Sends a part.
    ///
    /// # Errors
    /// Those of the connection, among them a client that reads too slowly.
    pub fn part(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(()); // an empty chunk would be the end
        }
        if !self.chunks {
            return self.stream.write_all(bytes);
        }
        let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        self.stream.write_all(&chunk)
    }

    /// Ends the body.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn end(mut self) -> io::Result<()> {
        if self.chunks {
            self.stream.write_all(b"0\r\n\r\n")?;
        }
        close(self.stream)
    }
}

/// Ends the response. What the client still sends is read for a moment, or a reset could overtake the response.
fn close(mut stream: &TcpStream) -> io::Result<()> {
    stream.flush()?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let until = Instant::now() + Duration::from_millis(500);
    let mut rest = [0; 4096];
    while Instant::now() < until && stream.read(&mut rest).is_ok_and(|n| n > 0) {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let second = Duration::from_secs(1);
        Limits { body: 100, request: second, write: second }
    }

    fn status(request: &[u8]) -> &'static str {
        head(request, &limits()).map_or_else(|refused| refused.status, |_| "200")
    }

    #[test]
    fn a_head_is_understood() {
        let text = b"POST /generate?x=1 HTTP/1.1\r\nHOST: localhost:1\r\ncontent-length: 12\r\nExpect: 100-continue\r\n\r\n";
        let (request, length) = head(text, &limits()).unwrap();
        assert_eq!((&request.method[..], &request.path[..]), ("POST", "/generate"));
        assert_eq!(request.host.as_deref(), Some("localhost:1"));
        assert!(request.chunks && length.continues && length.body == 12);
        let (request, length) = head(b"GET / HTTP/1.0\r\n\r\n", &limits()).unwrap();
        assert!(!request.chunks && !length.continues && length.body == 0);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for (request, wanted) in [
            (&b"\r\n\r\n"[..], "400 Bad Request"),
            (b"\x00\xff\x80\r\n\r\n", "400 Bad Request"),
            (b"GET /\r\n\r\n", "400 Bad Request"),
            (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request"),
            (b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "400 Bad Request"),
            (b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", "400 Bad Request"),
            (b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", "400 Bad Request"),
            (
                b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                "400 Bad Request",
            ),
            (b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", "413 Content Too Large"),
            (
                b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                "413 Content Too Large",
            ),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "411 Length Required"),
            (b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n", "200"),
        ] {
            assert_eq!(status(request), wanted, "{}", String::from_utf8_lossy(request));
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        assert_eq!(status(many.as_bytes()), "431 Request Header Fields Too Large");
    }

    #[test]
    fn a_client_that_does_not_read_ends_the_response() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let limits = Limits { write: Duration::from_millis(50), ..limits() };
        let response = Response::new("200 OK", "text/plain");
        let mut parts = response.begin(&stream, true, &limits).unwrap();
        let part = vec![b'x'; 1 << 16];
        // The system keeps some megabytes for the client, and then no more.
        let sent = (0..10_000).position(|_| parts.part(&part).is_err());
        assert!(sent.is_some_and(|parts| parts > 0), "{sent:?}");
        assert!(!is_gone(&stream));
        drop(client);
        let until = Instant::now() + Duration::from_secs(5);
        while !is_gone(&stream) {
            assert!(Instant::now() < until);
        }
    }
}
