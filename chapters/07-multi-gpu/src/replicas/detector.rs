//! Who is still there? One connection joins each pair of processes, and heartbeats travel on it between the numbers: every
//! process tells every other one twice a second that it lives. Who is gone or silent is named to all, whatever they are
//! waiting for at that moment.
//!
//! It tells a slow rank, which sends no numbers but lives, from one that is gone. It trusts those who reach its ports:
//! run it on your own machines.

use crate::{
    Error, Rank, Result,
    point_to_point::LOOK,
    replicas::frame::{Failure, Frame},
    split::group::lock,
};
use std::{
    io::{self, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    ops::Deref,
    sync::{
        Arc, Condvar, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Between two heartbeats.
    pub beat: Duration,
    /// Without a heartbeat, until a rank is given up.
    pub silence: Duration,
    /// Until all ranks have come.
    pub arrival: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            beat: Duration::from_millis(500),
            silence: Duration::from_secs(6),
            arrival: Duration::from_secs(30),
        }
    }
}

/// Whether an error means that nothing came in time.
pub fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A connection on which only a second silence in a row is one: a process that was itself stopped has slept through the
/// first, and what has arrived by then is there.
struct Patient(TcpStream);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(error) if is_late(&error) => self.0.read(buffer),
            read => read,
        }
    }
}

/// One process's watch over the others, which its threads share.
pub struct Detector {
    /// Which rank this process is.
    pub rank: Rank,
    /// How long things may take.
    pub limits: Limits,
    failure: Mutex<Option<Failure>>,
    told: Condvar,
    /// Held while the others hear of it: until then no connection is closed.
    telling: Mutex<()>,
    /// This process is done: nothing that happens now is an error.
    over: AtomicBool,
    /// Connections that are still read.
    open: AtomicUsize,
    /// To each other rank that has come.
    lines: Vec<OnceLock<Mutex<TcpStream>>>,
    /// Where the numbers of each go that has not come yet.
    senders: Mutex<Vec<Option<Sender<Vec<f32>>>>>,
    /// Where each listens, once rank 0 has sent it.
    pub roster: OnceLock<Vec<SocketAddr>>,
}

impl Detector {
    /// How many are we?
    pub fn size(&self) -> usize {
        self.lines.len()
    }

    /// The connection to a rank; none before it has come.
    pub fn line(&self, rank: Rank) -> Option<&Mutex<TcpStream>> {
        self.lines.get(rank.0)?.get()
    }

    /// This rank is now watched, on its connection.
    ///
    /// # Errors
    /// The system's, if it gives nothing more.
    pub fn add(self: &Arc<Self>, rank: Rank, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(self.limits.silence / 2))?;
        stream.set_write_timeout(Some(LOOK))?;
        let mut line = BufReader::new(Patient(stream.try_clone()?));
        let out = lock(&self.senders)[rank.0].take();
        let (Some(out), Ok(())) = (out, self.lines[rank.0].set(Mutex::new(stream))) else {
            return Err(io::Error::other(format!("rank {rank} has come twice")));
        };
        self.open.fetch_add(1, Ordering::Relaxed);
        let detector = Arc::clone(self);
        thread::Builder::new().spawn(move || {
            detector.listen(rank, &mut line, &out);
            // A connection that closes on what nobody has read is reset, and takes with it what the other one has not read yet
            // (RFC 1122, 4.2.2.13).
            let _ = io::copy(&mut line, &mut io::sink());
            detector.open.fetch_sub(1, Ordering::Relaxed);
        })?;
        Ok(())
    }

    // ANCHOR: listen
    /// Sorts what comes from one rank, until it is done, ends or is silent.
    fn listen(&self, rank: Rank, line: &mut impl Read, out: &Sender<Vec<f32>>) {
        let mut done = false;
        let failure = loop {
            match Frame::read(line) {
                Ok((Frame::Numbers(_), numbers)) => drop(out.send(numbers)),
                Ok((Frame::Roster(all), _)) => drop(self.roster.set(all)),
                Ok((Frame::Over(failure), _)) => break failure,
                Ok((Frame::Done, _)) => done = true,
                Ok(_) => {} // it lives
                Err(_) if done => return,
                Err(error) => break self.failure_of(rank, &error),
            }
        };
        self.decide(failure);
    }
    // ANCHOR_END: listen

    /// What it means that nothing more can be read from a rank.
    fn failure_of(&self, rank: Rank, error: &io::Error) -> Failure {
        match error.kind() {
            _ if is_late(error) => Failure::Silent(rank, self.limits.silence.as_secs_f64()),
            io::ErrorKind::InvalidData => Failure::Lost(rank, "it says what no rank says".into()),
            _ => Failure::Lost(rank, "its process has ended".into()),
        }
    }

    /// Tells all that this process lives.
    fn beat(&self) {
        let alive = Frame::Alive.header();
        while !self.over.load(Ordering::Relaxed) {
            for line in self.lines.iter().filter_map(OnceLock::get) {
                // A connection that is being written to is a heartbeat by itself.
                let Ok(mut line) = line.try_lock() else { continue };
                if line.write(&alive).is_ok_and(|written| written < alive.len()) {
                    let _ = line.shutdown(Shutdown::Both); // half a frame: what follows would be nonsense
                }
            }
            thread::sleep(self.limits.beat);
        }
    }

    /// Tells all that have come.
    pub fn tell(&self, frame: &Frame) {
        let header = frame.header();
        for line in self.lines.iter().filter_map(OnceLock::get) {
            let _ = lock(line).write_all(&header); // who does not hear it will be missed anyway
        }
    }

    /// Ends the run for all. The first failure counts.
    pub fn decide(&self, failure: Failure) {
        let _telling = lock(&self.telling);
        let mut first = lock(&self.failure);
        if first.is_some() || self.over.load(Ordering::Relaxed) {
            return;
        }
        *first = Some(failure.clone());
        self.told.notify_all();
        drop(first);
        self.tell(&Frame::Over(failure));
    }

    /// Tells the others why this rank ends; if it ends because of another one, they hear who that was.
    pub fn failed(&self, error: &Error) {
        self.decide(Failure::of(self.rank, error));
    }

    /// Tells the others that this rank is done, so that its end is no loss.
    pub fn done(&self) {
        self.tell(&Frame::Done);
        self.over.store(true, Ordering::Relaxed);
    }

    /// Fails if the run has been ended.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Silent`] or [`Error::Config`] with who it was.
    pub fn check(&self) -> Result<()> {
        self.failure_within(Duration::ZERO).map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// What has ended the run, waiting a little for it: a connection breaks before it is known why.
    pub fn failure_within(&self, limit: Duration) -> Option<Failure> {
        let failure = lock(&self.failure);
        let waited = self.told.wait_timeout_while(failure, limit, |failure| failure.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

/// A detector at work. Its connections are closed when it is dropped.
pub struct Watching(Arc<Detector>);

impl Watching {
    /// A watch over `size` ranks, and where the numbers of each come out.
    pub fn start(rank: Rank, size: usize, limits: Limits) -> (Self, Vec<Receiver<Vec<f32>>>) {
        let (senders, receivers) =
            (0..size).map(|_| channel()).map(|(send, receive)| (Some(send), receive)).unzip();
        let detector = Arc::new(Detector {
            rank,
            limits,
            failure: Mutex::new(None),
            told: Condvar::new(),
            telling: Mutex::new(()),
            over: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            lines: (0..size).map(|_| OnceLock::new()).collect(),
            senders: Mutex::new(senders),
            roster: OnceLock::new(),
        });
        let beating = Arc::clone(&detector);
        thread::spawn(move || beating.beat());
        (Self(detector), receivers)
    }
}

impl Deref for Watching {
    type Target = Arc<Detector>;

    fn deref(&self) -> &Arc<Detector> {
        &self.0
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if thread::panicking() {
            self.failed(&Error::Config("it panicked".into()));
        }
        self.over.store(true, Ordering::Relaxed);
        drop(lock(&self.telling)); // another thread may be about to
        let close = |how| {
            for line in self.lines.iter().filter_map(OnceLock::get) {
                let _ = lock(line).shutdown(how);
            }
        };
        close(Shutdown::Write);
        // What was told must arrive before the connection goes.
        let begun = Instant::now();
        while self.open.load(Ordering::Relaxed) > 0 && begun.elapsed() < Duration::from_secs(1) {
            thread::sleep(Duration::from_millis(5));
        }
        close(Shutdown::Both);
    }
}
