//! Serving: the model behind HTTP, for many clients at once.
//!
//! - [`api`]: the JSON in requests and answers.
//! - [`options`]: where, and within which limits.
//! - [`batcher`]: the engine that steps all requests together.
//!
//! [`lab::serve`] has a thread for each connection and bounds what a client can make long. The thread waits for the engine,
//! which has one of its own, and writes the answer. Here the tokens and the time of an answer have a limit, and so has the
//! number of requests that wait.

pub mod api;
pub mod batcher;
pub mod options;

use crate::{
    Result, Tokenizer,
    generate::{Decoder, Sequence},
};
use api::{Answer, Generate, Health, json};
use batcher::{Batcher, Event, Generation};
use lab::serve::{Refused, Reply, Request, Response};
pub use options::Options;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

/// The page to type in.
const PAGE: &str = include_str!("serve/page.html");

/// What the page may do: nothing with any other server.
const POLICY: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

/// Without it nginx keeps tokens back until it has some kilobytes of them.
const UNBUFFERED: &str = "X-Accel-Buffering: no\r\n";

/// How often a waiting connection looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(100);

/// A server that runs until it is dropped: then answers that are being made have the options' grace, and all that wait are
/// told that the server stops.
pub struct Server {
    http: lab::serve::Server,
    shared: Arc<Shared>,
}

/// What all connections use.
struct Shared {
    model: Arc<(Decoder, Tokenizer)>,
    batcher: Batcher,
    options: Options,
}

impl Server {
    /// Serves a model.
    ///
    /// # Errors
    /// As [`Sequence::new`] if the model and the tokenizer do not belong together; as [`lab::serve::Server::start`] if the
    /// port is taken.
    pub fn start(decoder: Decoder, tokenizer: Tokenizer, options: Options) -> Result<Self> {
        Sequence::new(&decoder, &tokenizer, b"", 1, crate::generate::Sampling::greedy())?;
        let model = Arc::new((decoder, tokenizer));
        let (batch, grace) = (options.batch.max(1), options.http.grace);
        let batcher = Batcher::start(&model, batch, options.queue, grace);
        let http = options.http.clone();
        let shared = Arc::new(Shared { model, batcher, options });
        let handler = Arc::clone(&shared);
        let answer = move |request: &Request, reply: &Reply| handler.answer(request, reply);
        Ok(Self { http: lab::serve::Server::start(http, answer)?, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.http.open()
    }

    /// What the engine has counted.
    pub fn counts(&self) -> &batcher::Counts {
        &self.shared.batcher.counts
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.batcher.stop();
    }
}

impl Shared {
    fn answer(&self, request: &Request, reply: &Reply) -> Result<(), Refused> {
        let send = |kind, more, body: &str| {
            reply.text(Response { status: "200 OK", kind, more }, body);
            Ok(())
        };
        let usage = "GET / is the page, GET /health the state, POST /generate an answer";
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => send("text/html; charset=utf-8", POLICY, PAGE),
            ("GET", "/health") => send("application/json", "", &json(&self.health(reply))),
            ("POST", "/generate") => self.generate(request, reply),
            (_, "/" | "/health") => Err(Refused::method("GET, HEAD", usage)),
            (_, "/generate") => Err(Refused::method("POST", usage)),
            _ => Err(Refused::new("404 Not Found", "there are only /, /health and /generate")),
        }
    }

    fn health(&self, reply: &Reply) -> Health {
        let counts = &self.batcher.counts;
        Health {
            status: "ok",
            model: *self.model.0.config(),
            bytes: self.model.0.bytes(),
            waiting: counts.waiting.load(Relaxed),
            running: counts.running.load(Relaxed),
            answered: counts.answered.load(Relaxed),
            refused: reply.refused(),
        }
    }

    fn generate(&self, request: &Request, reply: &Reply) -> Result<(), Refused> {
        let until = Instant::now() + self.options.time;
        let asked = Generate::parse(&request.body, &self.options)?;
        let (decoder, tokenizer) = &*self.model;
        let prompt = asked.prompt.as_bytes();
        let sequence = Sequence::new(decoder, tokenizer, prompt, asked.tokens, asked.sampling);
        let sequence = sequence.map_err(|error| Refused::bad(error.to_string()))?;
        let (events, heard) = channel();
        let waiting = Waiting { heard, gone: Arc::default(), reply };
        let gone = Arc::clone(&waiting.gone);
        if !self.batcher.submit(Generation { sequence, until, events, gone }) {
            let why = "the server is busy (the queue is full); try again";
            return Err(Refused::new("503 Service Unavailable", why));
        }
        let seed = asked.sampling.seed;
        if asked.stream { waiting.streamed(seed) } else { waiting.whole(seed) }
    }
}

/// A connection that waits for its answer. When it is dropped, the engine gives its place to another.
struct Waiting<'r> {
    heard: Receiver<Event>,
    gone: Arc<AtomicBool>,
    reply: &'r Reply<'r>,
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
                Err(RecvTimeoutError::Timeout) if self.reply.is_gone() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "the server stops; ask another one";
                    return Err(Refused::new("503 Service Unavailable", why));
                }
            }
        }
    }

    /// The answer in one piece.
    fn whole(&self, seed: u64) -> Result<(), Refused> {
        let mut text = String::new();
        loop {
            match self.next()? {
                None => return Ok(()),
                Some(Event::Text(more)) => {
                    text += &more;
                    if self.reply.is_gone() {
                        return Ok(());
                    }
                }
                Some(Event::End { reason, tokens, forgotten }) => {
                    let text = Some(text);
                    let answer = json(&Answer { text, tokens, stop: reason, forgotten, seed });
                    let kind = "application/json";
                    self.reply.text(Response { status: "200 OK", kind, more: "" }, &answer);
                    return Ok(());
                }
                Some(Event::Failed(_)) => {}
            }
        }
    }

    /// The answer as server-sent events (WHATWG HTML, section 9.2). The status is sent with the first one, so that an answer
    /// that never begins can still be refused.
    fn streamed(&self, seed: u64) -> Result<(), Refused> {
        let mut event = self.next()?;
        let kind = "text/event-stream";
        if self.reply.begin(Response { status: "200 OK", kind, more: UNBUFFERED }).is_err() {
            return Ok(());
        }
        loop {
            let (message, end) = match event {
                None => return Ok(()),
                Some(Event::Text(text)) => {
                    (format!("data: {}\n\n", serde_json::json!({ "text": text })), false)
                }
                Some(Event::End { reason, tokens, forgotten }) => {
                    let answer = Answer { text: None, tokens, stop: reason, forgotten, seed };
                    (format!("event: end\ndata: {}\n\n", json(&answer)), true)
                }
                Some(Event::Failed(why)) => {
                    let why = serde_json::json!({ "error": why });
                    (format!("event: error\ndata: {why}\n\n"), true)
                }
            };
            if self.reply.part(message.as_bytes()).is_err() || end {
                return Ok(()); // the client has gone, or does not read
            }
            event = match self.next() {
                Ok(event) => event,
                Err(refused) => Some(Event::Failed(refused.why)),
            };
        }
    }
}
