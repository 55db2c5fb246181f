//! An HTTP/1.1 server (RFC 9110 and 9112) for a few clients at once, and against bad ones.
//!
//! - `request`: what a client asks for, read within limits.
//! - `names`: who may ask.
//! - `reply`: what it gets, whole or in parts.
//!
//! Each connection has a thread and takes one request: a server of a few clients needs no asynchronous runtime, and a thread
//! reads from top to bottom. What a client can make long has a limit: the head, the body, the time for both, the time that
//! it leaves an answer unread, and the number of connections. When these are all taken, the client that has kept the server
//! waiting for longest gives its place to the next one; if none does, since all their answers are being made, the next one
//! hears that the server is busy. So clients that send nothing, or read nothing, shut out no other.

mod names;
mod reply;
mod request;

pub use names::host_name;
pub use reply::{Reply, Response, TEXT};
pub use request::{Refused, Request};

use crate::{Error, Result};
use reply::Client;
use std::{
    cell::Cell,
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a client may in any case keep the server waiting.
const PATIENCE: Duration = Duration::from_millis(250);

/// Where a server listens, and within which limits.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address; any other than a loopback one lets other machines in.
    pub address: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// How many ports are tried, from that one on.
    pub ports: usize,
    /// What the server may be called, as [`host_name`] has it, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Connections at the same time.
    pub connections: usize,
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The longest time until a request is complete.
    pub request: Duration,
    /// The longest time that a client may leave a part of an answer unread.
    pub unread: Duration,
    /// The longest time that answers go on when the server stops.
    pub grace: Duration,
    /// Whether a refusal is `{"error": "…"}` instead of text.
    pub json: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            ports: 1,
            hosts: Vec::new(),
            connections: 128,
            body: 0,
            request: Duration::from_secs(5),
            unread: Duration::from_secs(5),
            grace: Duration::ZERO,
            json: false,
        }
    }
}

/// A server that runs until it is dropped: then it accepts no connection, and answers that are being made have
/// [`Options::grace`] to end.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

/// Answers a request over its reply, or says why not.
type Handler = dyn Fn(&Request, &Reply) -> Result<(), Refused> + Send + Sync;

/// What all connections use.
struct Shared {
    options: Options,
    handler: Box<Handler>,
    /// The connections; those that have ended go when the next one comes.
    open: Mutex<Vec<Weak<Client>>>,
    refused: AtomicUsize,
    stop: AtomicBool,
}

impl Server {
    /// Starts to listen. Each request that is whole and calls the server by its name goes to the handler, each on a thread
    /// of its own.
    ///
    /// ```
    /// use lab::serve::{Options, Refused, Response, Server, TEXT};
    /// use std::io::{Read, Write};
    /// let server = Server::start(Options::default(), |request, reply| match request.path.as_str() {
    ///     "/" => Ok(reply.text(Response { status: "200 OK", kind: TEXT, more: "" }, "hello")),
    ///     _ => Err(Refused::new("404 Not Found", "there is only /")),
    /// })?;
    /// let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    /// stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    /// let mut answer = String::new();
    /// stream.read_to_string(&mut answer).unwrap();
    /// assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"));
    /// # Ok::<(), lab::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the address can't be had, or none of the ports is free.
    pub fn start(
        options: Options,
        handler: impl Fn(&Request, &Reply) -> Result<(), Refused> + Send + Sync + 'static,
    ) -> Result<Self> {
        let (listener, address) = listen(&options)?;
        let shared = Arc::new(Shared {
            options,
            handler: Box::new(handler),
            open: Mutex::default(),
            refused: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || of_thread.accept(&listener));
        Ok(Self { address, shared, thread })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.shared.open().iter().filter(|client| client.strong_count() > 0).count()
    }
}

fn listen(options: &Options) -> Result<(TcpListener, SocketAddr)> {
    let Options { address, port: first, ports, .. } = *options;
    let mut last = io::Error::from(ErrorKind::InvalidInput);
    for port in (first..=u16::MAX).take(ports) {
        let bound = TcpListener::bind((address, port));
        match bound.and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((address, listener)) => return Ok((listener, address)),
            Err(error) => last = error,
        }
    }
    let what = match ports {
        1 => format!("can't listen on {}", SocketAddr::new(address, first)),
        _ => format!("no port from {first} on is free"),
    };
    let way = match last.kind() {
        ErrorKind::AddrNotAvailable => "another address with --address",
        _ => "another port with --port",
    };
    Err(Error::message(format!("{what}: {last}; choose {way}")))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        // The thread sleeps until someone connects.
        let local = match self.address.ip() {
            ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            ip => ip,
        };
        let local = SocketAddr::new(local, self.address.port());
        let _ = TcpStream::connect_timeout(&local, Duration::from_secs(1));
        // Requests that are not complete now come too late.
        for client in self.shared.open().iter().filter_map(Weak::upgrade) {
            let _ = client.stream.shutdown(Shutdown::Read);
        }
        let until = Instant::now() + self.shared.options.grace + Duration::from_secs(1);
        while (self.open() > 0 || !self.thread.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Vec<Weak<Client>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Too many open files, most likely: let the others finish.
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let client = Arc::new(Client::new(stream));
            let Some(busy) = self.admit(&client) else { return };
            let shared = Arc::clone(self);
            let started = thread::Builder::new().spawn(move || {
                // A client that goes away is no fault of ours.
                let _ = shared.handle(&client, busy);
            });
            drop(started);
        }
    }

    /// Gives a client a place, and says whether all places have work; nothing if the server stops. Clients that are refused
    /// come one by one: the next one waits until the last one's request is read.
    fn admit(&self, client: &Arc<Client>) -> Option<bool> {
        while !self.stop.load(Relaxed) {
            let mut open = self.open();
            open.retain(|client| client.strong_count() > 0);
            let full = open.len() >= self.options.connections;
            let clients =
                open.iter().enumerate().filter_map(|(at, one)| Some((one.upgrade()?, at)));
            let waits = clients.filter_map(|(one, at)| Some((one.waits()?, at, one)));
            match waits.min_by_key(|(since, ..)| *since) {
                Some((since, at, one)) if full && since.elapsed() >= PATIENCE => {
                    let _ = one.stream.shutdown(Shutdown::Both);
                    open.swap_remove(at);
                }
                // One of them soon gives its place.
                Some(_) if full => {
                    drop(open);
                    thread::sleep(Duration::from_millis(1));
                }
                _ => {
                    open.push(Arc::downgrade(client));
                    return Some(full);
                }
            }
        }
        None
    }

    /// Reads a request and has it answered.
    fn handle(&self, client: &Client, busy: bool) -> io::Result<()> {
        let Options { body, request, unread, json, .. } = self.options;
        client.stream.set_write_timeout(Some(unread))?;
        client.stream.set_nodelay(true)?;
        // One that is refused has less time: its thread is needed. Yet its request is read, or the refusal is lost to a reset.
        let time = if busy { request / 10 } else { request };
        let (request, brief) = client.waiting(|| request::read(&client.stream, body, time))?;
        let refused = self.refused.load(Relaxed);
        let begun = Cell::new((0, Instant::now()));
        let reply = Reply { client, brief, refused, begun };
        let answered = request.and_then(|request| {
            if busy {
                let why = "the server is busy (too many connections); try again";
                return Err(Refused::new("503 Service Unavailable", why));
            }
            self.options.check(&request)?;
            (self.handler)(&request, &reply)
        });
        if let Err(refused) = answered {
            self.refused.fetch_add(usize::from(refused.status.starts_with("503")), Relaxed);
            reply.refuse(&refused, json);
        }
        client.waiting(|| reply.close())
    }
}
