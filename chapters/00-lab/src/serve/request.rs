//! Requests as they are read (RFC 9112, sections 2 to 6): one on each connection, and all that a client can make long has a
//! limit.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// The longest request line and headers together, in bytes.
const HEAD: usize = 16 << 10;

/// A request that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST` and so on. A `HEAD` is a `GET` whose answer has no body, which [`super::Reply`] sees to.
    pub method: String,
    /// The path, without what follows a question mark; it begins with `/`, and its escapes are as they came.
    pub path: String,
    /// The body's bytes.
    pub body: Vec<u8>,
    /// The header `Host`.
    pub host: Option<String>,
    /// The header `Origin`, which browsers send.
    pub origin: Option<String>,
}

/// Why a request gets no answer: a status, and the sentence that goes with it.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Such as `400 Bad Request`.
    pub status: &'static str,
    /// What was wrong.
    pub why: String,
    /// Further headers, each with its line's end.
    pub(super) more: String,
}

impl Refused {
    /// A refusal. A status of 503 tells the client to come again.
    pub fn new(status: &'static str, why: impl Into<String>) -> Self {
        let more = if status.starts_with("503") { "Retry-After: 1\r\n" } else { "" };
        Self { status, why: why.into(), more: more.to_owned() }
    }

    /// A request that can't be understood.
    pub fn bad(why: impl Into<String>) -> Self {
        Self::new("400 Bad Request", why)
    }

    /// Another method than the path's, which are `allowed`: `GET, HEAD` (RFC 9110, section 10.2.1).
    pub fn method(allowed: &str, why: impl Into<String>) -> Self {
        let more = format!("Allow: {allowed}\r\n");
        Self { more, ..Self::new("405 Method Not Allowed", why) }
    }
}

/// Reads a request with a body of up to `most` bytes, for so long; and whether its answer shall have no body.
///
/// # Errors
/// Those of the connection, among them a client that hangs up before the end.
pub(super) fn read(
    stream: &TcpStream,
    most: usize,
    time: Duration,
) -> io::Result<(Result<Request, Refused>, bool)> {
    let mut reader = Reader { stream, until: Instant::now() + time, got: Vec::new() };
    let request = match reader.request(most) {
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            let why = format!("the request was not complete after {} s", time.as_secs_f64());
            Err(Refused::new("408 Request Timeout", why))
        }
        read => read?,
    };
    Ok((request, reader.got.starts_with(b"HEAD ")))
}

/// What a client has sent so far, and until when it may send more.
struct Reader<'s> {
    stream: &'s TcpStream,
    until: Instant,
    got: Vec<u8>,
}

impl Reader<'_> {
    fn request(&mut self, most: usize) -> io::Result<Result<Request, Refused>> {
        let end = loop {
            if let Some(end) = self.got.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            if self.got.len() > HEAD {
                let why = format!("the request's head is longer than {HEAD} bytes");
                return Ok(Err(Refused::new("431 Request Header Fields Too Large", why)));
            }
            self.more()?;
        };
        let (mut request, length, continues) = match parse(&self.got[..end], most) {
            Ok(parsed) => parsed,
            Err(refused) => return Ok(Err(refused)),
        };
        let body = end + 4..end + 4 + length;
        if continues && self.got.len() < body.end {
            (&*self.stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        while self.got.len() < body.end {
            self.more()?;
        }
        request.body = self.got[body].to_vec();
        Ok(Ok(request))
    }

    /// Reads what comes next, if it comes soon.
    fn more(&mut self) -> io::Result<()> {
        let mut part = [0; 4096];
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        match (&*self.stream).read(&mut part) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => self.got.extend_from_slice(&part[..n]),
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Whether nothing has come, rather than that the connection is broken.
pub(super) fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The request line and the headers, without the empty line; the body's length, and whether the client waits for a word
/// before it sends that. What could be read in two ways is refused.
fn parse(head: &[u8], most: usize) -> Result<(Request, usize, bool), Refused> {
    let bad = || Refused::bad("this is no HTTP request");
    // Bytes that are no text become a sign that nothing here may have.
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.0" | "HTTP/1.1"] = line[..] else {
        return Err(bad());
    };
    let plain = target.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token(method) || !target.starts_with('/') || !plain {
        return Err(bad());
    }
    let headers = lines.map(|line| {
        let odd = |c: char| c.is_ascii_control() && c != '\t';
        let (name, value) = line.split_once(':')?;
        (is_token(name) && !value.contains(odd)).then_some((name, value.trim()))
    });
    let headers: Vec<(&str, &str)> = headers.collect::<Option<_>>().ok_or_else(bad)?;
    let text = |name: &str| {
        let mut values = headers.iter().filter(|(of, _)| of.eq_ignore_ascii_case(name));
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Refused::bad(format!("the header {name} comes twice"))),
            (value, None) => Ok(value.map(|(_, value)| (*value).to_owned())),
        }
    };
    if text("transfer-encoding")?.is_some() {
        let why = "the body must come with a Content-Length, not in chunks";
        return Err(Refused::new("411 Length Required", why));
    }
    let digits = text("content-length")?.unwrap_or_else(|| "0".to_owned());
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(Refused::bad("the Content-Length is no number"));
    }
    let length = digits.parse().unwrap_or(usize::MAX);
    if length > most {
        let why = format!("the body has {length} bytes; this server takes up to {most}");
        return Err(Refused::new("413 Content Too Large", why));
    }
    let continues = text("expect")?.is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
    let request = Request {
        method: if method == "HEAD" { "GET" } else { method }.to_owned(),
        path: target.split(['?', '#']).next().unwrap_or_default().to_owned(),
        body: Vec::new(),
        host: text("host")?,
        origin: text("origin")?,
    };
    Ok((request, length, continues))
}

/// A method or a header's name (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_understood() {
        let text = b"POST /generate?x=1 HTTP/1.1\r\nHOST: localhost:1\r\ncontent-length: 12\r\nX: \xff\r\nExpect: 100-continue";
        let (request, length, continues) = parse(text, 100).unwrap();
        assert_eq!((&request.method[..], &request.path[..]), ("POST", "/generate"));
        assert_eq!(request.host.as_deref(), Some("localhost:1"));
        assert!(length == 12 && continues);
        let (old, length, continues) = parse(b"HEAD / HTTP/1.0", 100).unwrap();
        assert!(old.method == "GET" && length == 0 && !continues);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for (head, wanted) in [
            (&b""[..], "400"),
            (b"\x00\xff\x80", "400"),
            (b"\x16\x03\x01\x02\x00\x01\x00", "400"),
            (b"GET /", "400"),
            (b"GET / HTTP/9.9", "400"),
            (b"GET / HTTP/1.1 more", "400"),
            (b"GET  / HTTP/1.1", "400"),
            (b"GET http://example.org/ HTTP/1.1", "400"),
            (b"GET * HTTP/1.1", "400"),
            (b"GET /a\nb HTTP/1.1", "400"),
            (b"GET /\xc3\xa4 HTTP/1.1", "400"),
            (b"GET / HTTP/1.1\r\nHost : a", "400"),
            (b"GET / HTTP/1.1\r\na: b\r\n c: folded", "400"),
            (b"GET / HTTP/1.1\r\na: b\nHost: c", "400"),
            (b"GET / HTTP/1.1\r\nHost: a\r\nhost: b", "400"),
            (b"POST / HTTP/1.1\r\nContent-Length: -1", "400"),
            (b"POST / HTTP/1.1\r\nContent-Length: +1", "400"),
            (b"POST / HTTP/1.1\r\nContent-Length: 1, 1", "400"),
            (b"POST / HTTP/1.1\r\nContent-Length:", "400"),
            (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2", "400"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked", "411"),
            (b"POST / HTTP/1.1\r\nContent-Length: 101", "413"),
            (b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999", "413"),
        ] {
            let refused = parse(head, 100).map(drop).unwrap_err();
            let shown = String::from_utf8_lossy(head);
            assert!(refused.status.starts_with(wanted), "{shown}: {refused:?}");
            assert!(refused.why.len() > 10, "{shown}: {refused:?}");
        }
        assert!(parse(b"POST / HTTP/1.1\r\nContent-Length: 100", 100).is_ok());
    }
}
