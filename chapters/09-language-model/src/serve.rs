//! Serving: the model behind HTTP, for many clients at once and against bad ones.
//!
//! - [`http`]: requests and responses, with limits.
//! - [`api`]: the JSON in them.
//! - [`options`]: where, and within which limits.
//! - [`batcher`]: the engine that steps all requests together.
//!
//! A connection has a thread that reads the request, waits for the engine and writes the answer; the engine has one of its
//! own. What a client can make long has a limit: the head, the body, the time for both, the tokens and the time of the answer,
//! the number of connections, and that of requests that wait. What exceeds it gets a status.

pub mod api;
pub mod batcher;
pub mod http;
pub mod options;

use crate::{
    Result, Tokenizer,
    generate::{Decoder, Sequence},
};
use api::{Answer, Failure, Generate, Health, json};
use batcher::{Batcher, Event, Generation};
use http::{Refused, Request, Response};
pub use options::Options;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The page to type in.
const PAGE: &str = include_str!("serve/page.html");

/// What the page may do: nothing with any other server.
const POLICY: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

/// How often a waiting connection looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(100);

/// Connections beyond the limit that are told so.
const REFUSALS: usize = 64;

/// A server that runs until it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections use.
struct Shared {
    model: Arc<(Decoder, Tokenizer)>,
    batcher: Batcher,
    options: Options,
    stop: AtomicBool,
    open: AtomicUsize,
}

impl Server {
    /// Serves a model.
    ///
    /// # Errors
    /// As [`Sequence::new`] if the model and the tokenizer do not belong together; the system's error if the port is taken.
    pub fn start(decoder: Decoder, tokenizer: Tokenizer, options: Options) -> Result<Self> {
        Sequence::new(&decoder, &tokenizer, b"", 1, crate::generate::Sampling::greedy())?;
        let address = SocketAddr::new(options.address, options.port);
        let failed = |error: io::Error| {
            let why =
                format!("can't listen on {address}: {error}; choose another port with --port");
            lab::Error::message(why)
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let model = Arc::new((decoder, tokenizer));
        let batcher = Batcher::start(&model, options.batch.max(1), options.queue, options.grace);
        let (stop, open) = (AtomicBool::new(false), AtomicUsize::new(0));
        let shared = Arc::new(Shared { model, batcher, options, stop, open });
        let of_thread = Arc::clone(&shared);
        let thread = Some(thread::spawn(move || accept(&listener, &of_thread)));
        Ok(Self { address, shared, thread })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.shared.open.load(Relaxed)
    }

    /// What the engine has counted.
    pub fn counts(&self) -> &batcher::Counts {
        &self.shared.batcher.counts
    }
}

/// The end: no connection is accepted any more, answers that are being made have the options' `grace`, and all that wait are
/// told that the server stops.
impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        self.shared.batcher.stop();
        // The thread sleeps until someone connects.
        let local = match self.address.ip() {
            ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            ip => ip,
        };
        let woken = TcpStream::connect_timeout(
            &SocketAddr::new(local, self.address.port()),
            Duration::from_secs(1),
        );
        if woken.is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
        let until = Instant::now() + self.shared.options.grace + Duration::from_secs(1);
        while self.open() > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.load(Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // Too many open files, most likely: let the others finish.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let permit = Permit::take(shared);
        if permit.number > shared.options.connections + REFUSALS {
            continue; // it is closed without a word
        }
        let started = thread::Builder::new().spawn(move || {
            // A client that goes away is no fault of ours.
            let _ = permit.handle(&stream);
        });
        drop(started);
    }
}

/// One of the connections that may be open; given back when dropped.
struct Permit {
    shared: Arc<Shared>,
    number: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Relaxed);
    }
}

impl Permit {
    fn take(shared: &Arc<Shared>) -> Self {
        let number = shared.open.fetch_add(1, Relaxed) + 1;
        Self { shared: Arc::clone(shared), number }
    }

    /// Reads a request and answers it.
    fn handle(&self, stream: &TcpStream) -> io::Result<()> {
        let limits = &self.shared.options.http;
        let busy = self.number > self.shared.options.connections;
        // One that is refused has less time for its request: its thread is needed.
        let request = if busy { limits.request / 10 } else { limits.request };
        let done = match http::read(stream, &http::Limits { request, ..*limits })? {
            None => return Ok(()),
            Some(Ok(_)) if busy => Err(self.shared.busy("too many connections")),
            Some(Ok(request)) => self.shared.answer(stream, &request),
            Some(Err(refused)) => Err(refused),
        };
        let Err(Refused { status, why }) = done else { return Ok(()) };
        let mut response = Response::new(status, "application/json");
        if status.starts_with("503") {
            response.more += "Retry-After: 1\r\n";
        }
        if status.starts_with("405") {
            response.more += "Allow: GET, POST\r\n";
        }
        response.send(stream, json(&Failure { error: &why }).as_bytes(), limits)
    }
}

impl Shared {
    fn busy(&self, what: &str) -> Refused {
        self.batcher.counts.refused.fetch_add(1, Relaxed);
        Refused::new("503 Service Unavailable", format!("the server is busy ({what}); try again"))
    }

    /// Answers a request, or says why not. What happens to the connection itself is no refusal.
    fn answer(&self, stream: &TcpStream, request: &Request) -> Result<(), Refused> {
        self.check_origin(request)?;
        let limits = &self.options.http;
        let send = |kind, more: &str, body: &str| {
            let response = Response { more: more.to_owned(), ..Response::new("200 OK", kind) };
            let _ = response.send(stream, body.as_bytes(), limits);
            Ok(())
        };
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => send("text/html; charset=utf-8", POLICY, PAGE),
            ("GET", "/health") => send("application/json", "", &json(&self.health())),
            ("POST", "/generate") => self.generate(stream, request),
            (_, "/" | "/health" | "/generate") => {
                let why = "GET / is the page, GET /health the state, POST /generate an answer";
                Err(Refused::new("405 Method Not Allowed", why))
            }
            _ => {
                let why = "there are only /, /health and /generate";
                Err(Refused::new("404 Not Found", why))
            }
        }
    }

    /// Pages of other servers get nothing, not even by a name that they point to this machine.
    fn check_origin(&self, request: &Request) -> Result<(), Refused> {
        let host = request.host.as_deref().unwrap_or_default();
        let name = match host.find(']') {
            Some(end) => &host[..=end],
            None => host.split(':').next().unwrap_or_default(),
        };
        let local = matches!(name, "" | "localhost" | "127.0.0.1" | "[::1]");
        if self.options.address.is_loopback() && !local {
            let why = format!("this server is 127.0.0.1, not {name}");
            return Err(Refused::new("421 Misdirected Request", why));
        }
        match &request.origin {
            Some(origin) if *origin != format!("http://{host}") => {
                Err(Refused::new("403 Forbidden", "another site's page may not use this server"))
            }
            _ => Ok(()),
        }
    }

    fn health(&self) -> Health {
        let counts = &self.batcher.counts;
        Health {
            status: if self.stop.load(Relaxed) { "stopping" } else { "ok" },
            model: *self.model.0.config(),
            bytes: self.model.0.bytes(),
            waiting: counts.waiting.load(Relaxed),
            running: counts.running.load(Relaxed),
            answered: counts.answered.load(Relaxed),
            refused: counts.refused.load(Relaxed),
        }
    }

    fn generate(&self, stream: &TcpStream, request: &Request) -> Result<(), Refused> {
        let until = Instant::now() + self.options.time;
        let asked = Generate::parse(&request.body, &self.options)?;
        let (decoder, tokenizer) = &*self.model;
        let prompt = asked.prompt.as_bytes();
        let sequence = Sequence::new(decoder, tokenizer, prompt, asked.tokens, asked.sampling);
        let sequence = sequence.map_err(|error| Refused::bad(error.to_string()))?;
        let (events, heard) = channel();
        let waiting = Waiting { heard, gone: Arc::default(), stream };
        let gone = Arc::clone(&waiting.gone);
        if !self.batcher.submit(Generation { sequence, until, events, gone }) {
            let why = "the server is busy (the queue is full); try again";
            return Err(Refused::new("503 Service Unavailable", why));
        }
        let seed = asked.sampling.seed;
        if asked.stream {
            waiting.streamed(seed, request.chunks, &self.options.http)
        } else {
            waiting.whole(seed, &self.options.http)
        }
    }
}

/// A connection that waits for its answer. When it is dropped, the engine gives its place to another.
struct Waiting<'s> {
    heard: Receiver<Event>,
    gone: Arc<AtomicBool>,
    stream: &'s TcpStream,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gone.store(true, Relaxed);
    }
}

impl Waiting<'_> {
    /// The next event; nothing if the client has gone.
    fn next(&self) -> Result<Option<Event>, Refused> {
        loop {
            match self.heard.recv_timeout(LOOK) {
                Ok(Event::Failed(why)) => {
                    return Err(Refused::new("500 Internal Server Error", why));
                }
                Ok(event) => return Ok(Some(event)),
                Err(RecvTimeoutError::Timeout) if http::is_gone(self.stream) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "the server stops; ask another one";
                    return Err(Refused::new("503 Service Unavailable", why));
                }
            }
        }
    }

    /// The answer in one piece.
    fn whole(&self, seed: u64, limits: &http::Limits) -> Result<(), Refused> {
        let mut text = String::new();
        loop {
            match self.next()? {
                None => return Ok(()),
                Some(Event::Text(more)) => {
                    text += &more;
                    if http::is_gone(self.stream) {
                        return Ok(());
                    }
                }
                Some(Event::End { reason, tokens, forgotten }) => {
                    let text = Some(text);
                    let answer = json(&Answer { text, tokens, stop: reason, forgotten, seed });
                    let response = Response::new("200 OK", "application/json");
                    let _ = response.send(self.stream, answer.as_bytes(), limits);
                    return Ok(());
                }
                Some(Event::Failed(_)) => {}
            }
        }
    }

    /// The answer as server-sent events (WHATWG HTML, section 9.2). The status is sent with the first one, so that an answer
    /// that never begins can still be refused.
    fn streamed(&self, seed: u64, chunks: bool, limits: &http::Limits) -> Result<(), Refused> {
        let mut event = self.next()?;
        let response = Response::new("200 OK", "text/event-stream");
        let Ok(mut parts) = response.begin(self.stream, chunks, limits) else { return Ok(()) };
        loop {
            let (message, end) = match event {
                None => return Ok(()),
                Some(Event::Text(text)) => {
                    (format!("data: {}\n\n", json(&serde_json::json!({ "text": text }))), false)
                }
                Some(Event::End { reason, tokens, forgotten }) => {
                    let answer = Answer { text: None, tokens, stop: reason, forgotten, seed };
                    (format!("event: end\ndata: {}\n\n", json(&answer)), true)
                }
                Some(Event::Failed(why)) => {
                    (format!("event: error\ndata: {}\n\n", json(&Failure { error: &why })), true)
                }
            };
            let sent = parts.part(message.as_bytes());
            if sent.is_err() {
                return Ok(()); // the client has gone, or does not read
            }
            if end {
                let _ = parts.end();
                return Ok(());
            }
            event = match self.next() {
                Ok(event) => event,
                Err(refused) => Some(Event::Failed(refused.why)),
            };
        }
    }
}
