//! Who is still there? One connection joins each pair of processes, and signs of life travel on it between the numbers:
//! every process tells every other one twice a second that it lives. Who is gone or silent is named to all, whatever
//! they are waiting for at that moment.
//!
//! It tells a slow rank, which sends no numbers but lives, from one that is gone. It trusts those who reach its ports:
//! run it on your own machines.

use crate::{
    error::{Error, Result},
    rank::Rank,
    replicas::frame::{End, Failure, Frame},
};
use std::{
    io::{self, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Between two signs of life.
    pub beat: Duration,
    /// Without a sign of life, until a rank is given up.
    pub silence: Duration,
    /// Until all ranks have come.
    pub arrival: Duration,
    /// Until a rank that lives has sent the numbers that another one waits for.
    pub numbers: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            beat: Duration::from_millis(500),
            silence: Duration::from_secs(6),
            arrival: Duration::from_secs(30),
            numbers: Duration::from_mins(5),
        }
    }
}

/// How often a rank that waits looks whether somebody was lost.
pub const LOOK: Duration = Duration::from_millis(100);

/// The most characters of a reason that others are told.
const MOST_WORDS: usize = 2000;

/// What the threads of one process share.
struct Shared {
    me: Rank,
    limits: Limits,
    failure: Mutex<Option<Failure>>,
    told: Condvar,
    /// This process is done: nothing that happens now is an error.
    over: AtomicBool,
    /// Connections that are still read.
    open: AtomicUsize,
    /// To each other rank that has come.
    lines: Vec<OnceLock<Mutex<TcpStream>>>,
    /// Where each listens, once rank 0 has said it.
    roster: OnceLock<Vec<Option<SocketAddr>>>,
}

/// A lock whose owner panicked guards data that are still whole: each is one value.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an error means that nothing came in time.
pub fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A connection that is read with a limit for each silence.
struct Listening {
    stream: TcpStream,
    limit: Duration,
}

impl Read for Listening {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(buffer) {
            // A process that was itself stopped has slept through its limit: what came meanwhile is there.
            Err(error) if is_late(&error) => {
                self.stream.set_read_timeout(Some(LOOK))?;
                let again = self.stream.read(buffer);
                self.stream.set_read_timeout(Some(self.limit))?;
                again
            }
            read => read,
        }
    }
}

impl Shared {
    fn tell(&self, frame: &Frame) {
        let header = frame.header();
        for line in self.lines.iter().filter_map(OnceLock::get) {
            let _ = lock(line).write_all(&header); // who does not hear it will be missed anyway
        }
    }

    /// The first failure counts, and all are told.
    fn decide(&self, failure: Failure) {
        let mut first = lock(&self.failure);
        if first.is_some() || self.over.load(Ordering::Relaxed) {
            return;
        }
        *first = Some(failure.clone());
        self.told.notify_all();
        drop(first);
        self.tell(&Frame::Over(failure));
    }

    // ANCHOR: listen
    /// Sorts what comes from one rank, until it is done, ends or is silent.
    fn listen(&self, rank: Rank, line: &mut impl Read, out: &Sender<Vec<f32>>) {
        let mut done = false;
        let end = loop {
            match Frame::read(line) {
                Ok((Frame::Numbers(_), numbers)) => drop(out.send(numbers)),
                Ok((Frame::Roster(all), _)) => drop(self.roster.set(all)),
                Ok((Frame::Over(failure), _)) => return self.decide(failure),
                Ok((Frame::Done, _)) => done = true,
                Ok(_) => {} // it lives
                Err(_) if done => return,
                Err(error) => break self.end(&error),
            }
        };
        self.decide(Failure { rank, end });
    }
    // ANCHOR_END: listen

    /// What it means that nothing more can be read.
    fn end(&self, error: &io::Error) -> End {
        match error.kind() {
            _ if is_late(error) => End::Silent(self.limits.silence.as_secs_f64()),
            io::ErrorKind::InvalidData => End::Lost("it says what no rank says".into()),
            _ => End::Lost("its process has ended".into()),
        }
    }

    /// Tells all that this process lives.
    fn beat(&self) {
        let alive = Frame::Alive.header();
        while !self.over.load(Ordering::Relaxed) {
            for line in self.lines.iter().filter_map(OnceLock::get) {
                // A connection that is being written to is a sign of life by itself.
                let Ok(mut line) = line.try_lock() else { continue };
                if line.write(&alive).is_ok_and(|written| written < alive.len()) {
                    let _ = line.shutdown(Shutdown::Both); // half a frame: what follows would be nonsense
                }
            }
            thread::sleep(self.limits.beat);
        }
    }
}

/// This process's part in the watch. It ends when it is dropped.
pub struct Detector {
    shared: Arc<Shared>,
    senders: Mutex<Vec<Option<Sender<Vec<f32>>>>>,
}

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Detector").field("rank", &self.shared.me).finish_non_exhaustive()
    }
}

impl Detector {
    /// A watch over `size` ranks, and where the numbers of each come out.
    pub fn new(me: Rank, size: usize, limits: Limits) -> (Self, Vec<Receiver<Vec<f32>>>) {
        let (senders, receivers) = (0..size).map(|_| channel()).unzip::<_, _, Vec<_>, Vec<_>>();
        let shared = Arc::new(Shared {
            me,
            limits,
            failure: Mutex::new(None),
            told: Condvar::new(),
            over: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            lines: (0..size).map(|_| OnceLock::new()).collect(),
            roster: OnceLock::new(),
        });
        let beating = Arc::clone(&shared);
        thread::spawn(move || beating.beat());
        let senders = Mutex::new(senders.into_iter().map(Some).collect());
        (Self { shared, senders }, receivers)
    }

    /// Who am I?
    pub fn rank(&self) -> Rank {
        self.shared.me
    }

    /// How many are we?
    pub fn size(&self) -> usize {
        self.shared.lines.len()
    }

    /// From now on this rank is watched, on its connection.
    ///
    /// # Errors
    /// The system's, if it gives nothing more.
    pub fn add(&self, rank: Rank, stream: TcpStream) -> io::Result<()> {
        let limit = self.shared.limits.silence;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(LOOK))?;
        let mut line = BufReader::new(Listening { stream: stream.try_clone()?, limit });
        let out = lock(&self.senders)[rank.0].take();
        let (Some(out), Ok(())) = (out, self.shared.lines[rank.0].set(Mutex::new(stream))) else {
            return Err(io::Error::other(format!("rank {rank} has come twice")));
        };
        self.shared.open.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&self.shared);
        thread::Builder::new().spawn(move || {
            shared.listen(rank, &mut line, &out);
            shared.open.fetch_sub(1, Ordering::Relaxed);
        })?;
        Ok(())
    }

    /// The connection to a rank; none before it has come.
    pub fn line(&self, rank: Rank) -> Option<&Mutex<TcpStream>> {
        self.shared.lines.get(rank.0)?.get()
    }

    /// Where each listens, once rank 0 has said it.
    pub fn roster(&self) -> Option<&[Option<SocketAddr>]> {
        self.shared.roster.get().map(Vec::as_slice)
    }

    /// Tells all that have come.
    pub fn tell(&self, frame: &Frame) {
        self.shared.tell(frame);
    }

    /// Fails if somebody has ended the run.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Silent`] or [`Error::Config`] with who it was.
    pub fn check(&self) -> Result<()> {
        self.failure().map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Who ended the run, if somebody did.
    pub fn failure(&self) -> Option<Failure> {
        lock(&self.shared.failure).clone()
    }

    /// The same, waiting a little for it: a connection breaks before it is known why.
    pub fn failure_within(&self, limit: Duration) -> Option<Failure> {
        let failure = lock(&self.shared.failure);
        let waited =
            self.shared.told.wait_timeout_while(failure, limit, |failure| failure.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Tells the others why this rank ends; if it ends because of another one, they hear who that was.
    pub fn failed(&self, error: &Error) {
        let (rank, end) = match error {
            Error::Lost { rank, why } => (*rank, End::Lost(why.clone())),
            Error::Silent { rank, seconds } => (*rank, End::Silent(*seconds)),
            other => (self.shared.me, End::Lost(cut(&other.to_string()))),
        };
        self.shared.decide(Failure { rank, end });
    }

    /// Tells the others that the ranks do not fit together.
    pub fn refuse(&self, why: &str) {
        let end = End::Refused(cut(why));
        self.shared.decide(Failure { rank: self.shared.me, end });
    }

    /// Tells the others that this rank is done, so that its end is no loss.
    pub fn done(&self) {
        self.shared.tell(&Frame::Done);
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

/// As much of a reason as fits into a frame.
fn cut(why: &str) -> String {
    why.chars().take(MOST_WORDS).collect()
}

impl Drop for Detector {
    fn drop(&mut self) {
        if thread::panicking() {
            self.failed(&Error::Config("it panicked".into()));
        }
        self.shared.over.store(true, Ordering::Relaxed);
        let lines = || self.shared.lines.iter().filter_map(OnceLock::get);
        for line in lines() {
            let _ = lock(line).shutdown(Shutdown::Write);
        }
        // What was told must arrive before the connection goes.
        let begun = Instant::now();
        while self.shared.open.load(Ordering::Relaxed) > 0
            && begun.elapsed() < Duration::from_secs(1)
        {
            thread::sleep(Duration::from_millis(5));
        }
        for line in lines() {
            let _ = lock(line).shutdown(Shutdown::Both);
        }
    }
}
