//! Answers as they are sent: whole, or in parts as they are made.

use super::request::{Refused, is_nothing};
use std::{
    cell::Cell,
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How every answer begins.
const BEGIN: &str = "HTTP/1.1 ";

/// The longest time for sending a whole body.
const ANSWER: Duration = Duration::from_secs(30);

/// How long after its first byte the second one is sent to a client of which nothing more comes; each further one after twice
/// the time.
const PROBE: Duration = Duration::from_millis(100);

/// A connection.
pub(super) struct Client {
    pub stream: TcpStream,
    /// Since when the client keeps the server waiting by what it sends or reads.
    waits: Mutex<Option<Instant>>,
}

impl Client {
    /// A client that has not asked for anything yet.
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, waits: Mutex::new(Some(Instant::now())) }
    }

    /// Since when the client keeps the server waiting; nothing while its answer is made.
    pub fn waits(&self) -> Option<Instant> {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what takes as long as the client wants.
    pub fn waiting<T>(&self, act: impl FnOnce() -> T) -> T {
        let set = |since| *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = since;
        set(Some(Instant::now()));
        let done = act();
        set(None);
        done
    }
}

/// What an answer is: a status, a type, further headers.
#[derive(Clone, Copy, Debug)]
pub struct Response<'r> {
    /// Such as `200 OK`.
    pub status: &'r str,
    /// Such as `application/json`.
    pub kind: &'r str,
    /// Further headers, each with its line's end.
    pub more: &'r str,
}

/// The type of a plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// Where the answer to a request goes: whole, or part by part. The connection's end is the end of a body without a length
/// (RFC 9112, section 6.3), for which parts need no frames.
pub struct Reply<'c> {
    pub(super) client: &'c Client,
    /// Whether no body is sent.
    pub(super) brief: bool,
    /// Clients that were told that the server is busy.
    pub(super) refused: usize,
    /// Bytes of [`BEGIN`] that are sent, and when the next may be.
    pub(super) begun: Cell<(usize, Instant)>,
}

impl Reply<'_> {
    /// How many requests have got the status 503 so far.
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Sends a text. A client that goes away meanwhile is no fault of ours.
    pub fn text(&self, response: Response<'_>, text: &str) {
        self.send(response, text.len() as u64, &mut text.as_bytes());
    }

    /// Sends a body of so many bytes while it is read. A client that goes away meanwhile is no fault of ours.
    pub fn send(&self, response: Response<'_>, length: u64, body: &mut dyn Read) {
        let (until, mut body) = (Instant::now() + ANSWER, body.take(length));
        let _ = self.client.waiting(|| -> io::Result<()> {
            self.head(response, &format!("Content-Length: {length}\r\n"))?;
            let mut part = [0; 16 << 10];
            while !self.brief && Instant::now() < until {
                let n = body.read(&mut part)?;
                if n == 0 {
                    break;
                }
                (&self.client.stream).write_all(&part[..n])?;
            }
            Ok(())
        });
    }

    pub(super) fn refuse(&self, refused: &Refused, json: bool) {
        let Refused { status, why, more } = refused;
        let (kind, text) = if json {
            ("application/json", serde_json::json!({ "error": why }).to_string())
        } else {
            (TEXT, format!("{status}\n{why}\n"))
        };
        self.text(Response { status, kind, more }, &text);
    }

    /// Sends the head of a body that comes in parts.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn begin(&self, response: Response<'_>) -> io::Result<()> {
        self.client.waiting(|| self.head(response, ""))
    }

    /// Sends a part.
    ///
    /// # Errors
    /// Those of the connection, among them a client that reads too slowly.
    pub fn part(&self, bytes: &[u8]) -> io::Result<()> {
        let bytes = if self.brief { b"" } else { bytes };
        self.client.waiting(|| (&self.client.stream).write_all(bytes))
    }

    fn head(&self, response: Response<'_>, length: &str) -> io::Result<()> {
        let Response { status, kind, more } = response;
        let head = format!(
            "{BEGIN}{status}\r\nContent-Type: {kind}\r\n{length}{more}Cache-Control: no-cache\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        );
        let (begun, next) = self.begun.get();
        self.begun.set((BEGIN.len(), next));
        (&self.client.stream).write_all(&head.as_bytes()[begun..])
    }

    /// Whether the client has broken the connection. What it sends besides is thrown away.
    ///
    /// One that has only ended its sending side waits for its answer. TCP shows no difference until something is sent, which
    /// a client that has gone does not take (RFC 9293, section 3.5.2). So it gets what every answer begins with, byte by byte.
    pub fn is_gone(&self) -> bool {
        let mut stream = &self.client.stream;
        if stream.set_nonblocking(true).is_err() {
            return true;
        }
        let read = stream.read(&mut [0; 512]);
        if stream.set_nonblocking(false).is_err() {
            return true;
        }
        match read {
            Ok(0) => self.probe().is_err(),
            Ok(_) => false,
            Err(error) => !is_nothing(&error),
        }
    }

    fn probe(&self) -> io::Result<()> {
        let mut stream = &self.client.stream;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        let (begun, next) = self.begun.get();
        if begun < BEGIN.len() && Instant::now() >= next {
            stream.write_all(&BEGIN.as_bytes()[begun..=begun])?;
            self.begun.set((begun + 1, Instant::now() + PROBE * (1 << begun)));
        }
        Ok(())
    }

    /// Ends the answer. What the client still sends is read for a moment, or a reset could overtake the answer.
    pub(super) fn close(&self) -> io::Result<()> {
        let mut stream = &self.client.stream;
        stream.shutdown(Shutdown::Write)?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        let until = Instant::now() + Duration::from_millis(500);
        let mut rest = [0; 4096];
        while Instant::now() < until && stream.read(&mut rest).is_ok_and(|n| n > 0) {}
        Ok(())
    }
}
