//! Who is still there? Every process tells rank 0 twice a second that it lives, and rank 0 tells everybody the same; who is
//! gone or silent is named to all, whatever they are waiting for at that moment.
//!
//! It is a line of its own beside the one for numbers, so that it works with any engine: it tells a slow rank, which
//! sends no numbers but beats, from one that is gone. It trusts those who reach its port: run it on your own machines.

use crate::{Error, Rank, Result};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
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

/// What is known of a rank that ended the run.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It is gone, for this reason.
    Lost(String),
    /// It has been silent for so many seconds.
    Silent(f64),
}

/// The rank that ended the run, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The rank.
    pub rank: Rank,
    /// How it ended.
    pub end: End,
}

impl From<Verdict> for Error {
    fn from(Verdict { rank, end }: Verdict) -> Self {
        match end {
            End::Lost(why) => Self::Lost { rank, why },
            End::Silent(seconds) => Self::Silent { rank, seconds },
        }
    }
}

/// What processes say to each other here: a byte for the kind, four for the length, then text.
#[derive(Clone, Debug, PartialEq)]
enum Frame {
    /// I am rank ..., of ..., and others reach me at ...
    Hello(usize, usize, String),
    /// Everybody has come; this is where each is reached.
    Roster(Vec<String>),
    /// You can't take part.
    Refused(String),
    /// I live.
    Beat,
    /// I am done; that I go now means nothing.
    Done,
    /// I end, for this reason.
    Failed(String),
    /// It is over for all.
    Over(Verdict),
}

/// The first bytes of every text: whoever says something else is no rank.
const MAGIC: &str = "throughput 1";

impl Frame {
    fn write(&self, mut to: &TcpStream) -> io::Result<()> {
        let (kind, text) = match self {
            Self::Hello(rank, size, card) => (b'h', format!("{MAGIC}\n{rank}\n{size}\n{card}")),
            Self::Roster(cards) => (b'r', cards.join("\n")),
            Self::Refused(why) => (b'x', why.clone()),
            Self::Beat => (b'b', String::new()),
            Self::Done => (b'd', String::new()),
            Self::Failed(why) => (b'f', why.clone()),
            Self::Over(Verdict { rank, end: End::Lost(why) }) => (b'l', format!("{rank}\n{why}")),
            Self::Over(Verdict { rank, end: End::Silent(seconds) }) => {
                (b's', format!("{rank}\n{seconds}"))
            }
        };
        let mut bytes = vec![kind];
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        to.write_all(&bytes)
    }

    fn read(mut from: &TcpStream) -> io::Result<Self> {
        let mut head = [0; 5];
        from.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = u32::from_le_bytes(length) as usize;
        let nonsense = || io::Error::new(io::ErrorKind::InvalidData, "not a rank's words");
        if length > 1 << 20 {
            return Err(nonsense());
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text)?;
        let text = String::from_utf8(text).map_err(|_| nonsense())?;
        let two = || text.split_once('\n').ok_or_else(nonsense);
        let number = |text: &str| text.parse().map_err(|_| nonsense());
        Ok(match kind {
            b'h' => {
                let fields: Vec<&str> = text.splitn(4, '\n').collect();
                match fields[..] {
                    [MAGIC, rank, size, card] => {
                        Self::Hello(number(rank)?, number(size)?, card.to_owned())
                    }
                    _ => return Err(nonsense()),
                }
            }
            b'r' => Self::Roster(text.split('\n').map(str::to_owned).collect()),
            b'x' => Self::Refused(text),
            b'b' => Self::Beat,
            b'd' => Self::Done,
            b'f' => Self::Failed(text),
            b'l' => {
                let (rank, why) = two()?;
                let rank = Rank(number(rank)?);
                Self::Over(Verdict { rank, end: End::Lost(why.to_owned()) })
            }
            b's' => {
                let (rank, seconds) = two()?;
                let seconds = seconds.parse().map_err(|_| nonsense())?;
                Self::Over(Verdict { rank: Rank(number(rank)?), end: End::Silent(seconds) })
            }
            _ => return Err(nonsense()),
        })
    }
}

/// What the threads of one process share.
struct Shared {
    me: Rank,
    limits: Limits,
    verdict: Mutex<Option<Verdict>>,
    told: Condvar,
    /// This process is done: nothing that happens now is an error.
    over: AtomicBool,
    /// Lines that are still read.
    open: AtomicUsize,
    /// To rank 0; from rank 0, to all others.
    lines: Mutex<Vec<TcpStream>>,
}

/// A lock whose owner panicked guards data that are still whole: each is one value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn tell(&self, frame: &Frame) {
        for line in lock(&self.lines).iter() {
            let _ = frame.write(line); // who does not hear it will be missed anyway
        }
    }

    /// The first verdict counts, and rank 0 tells it to all.
    fn decide(&self, verdict: Verdict) {
        let mut first = lock(&self.verdict);
        if first.is_some() || self.over.load(Ordering::Relaxed) {
            return;
        }
        *first = Some(verdict.clone());
        self.told.notify_all();
        drop(first);
        if self.me == Rank(0) {
            self.tell(&Frame::Over(verdict));
        }
    }

    // ANCHOR: listen
    /// Listens to one rank until it is done, or ends, or is silent.
    fn listen(&self, rank: Rank, line: &TcpStream) {
        let (mut done, limit) = (false, self.limits.silence);
        let end = loop {
            match Frame::read(line) {
                Ok(Frame::Done) => done = true,
                Ok(Frame::Failed(why)) => break End::Lost(why),
                Ok(Frame::Over(verdict)) => return self.decide(verdict),
                Ok(_) => {} // a beat
                Err(_) if done => return,
                Err(error) if is_late(&error) && heard(line, limit) => {}
                Err(error) if is_late(&error) => {
                    break End::Silent(limit.as_secs_f64());
                }
                Err(_) => break End::Lost("its process has ended".into()),
            }
        };
        self.decide(Verdict { rank, end });
    }
    // ANCHOR_END: listen
}

/// Whether an error means that nothing came in time.
pub(crate) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A process that was itself stopped has slept through its limit: what came meanwhile is there.
fn heard(line: &TcpStream, limit: Duration) -> bool {
    let _ = line.set_read_timeout(Some(Duration::from_millis(200)));
    let waiting = line.peek(&mut [0]);
    line.set_read_timeout(Some(limit)).is_ok() && waiting.is_ok_and(|bytes| bytes > 0)
}

/// This process's part in the watch. It ends when it is dropped.
pub struct Heart {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Heart {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Heart").field("rank", &self.shared.me).finish_non_exhaustive()
    }
}

/// A connection that could not be made.
fn unreachable(what: &str, error: impl std::fmt::Display) -> Error {
    Error::Config(format!(
        "{what} ({error}); see that rank 0 runs, that its address is right and that no firewall is between"
    ))
}

/// Connects, again and again until the limit: rank 0 may start last.
pub(crate) fn connect(to: &str, limit: Duration) -> Result<TcpStream> {
    let begun = Instant::now();
    loop {
        let addresses = to.to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>);
        let error = match addresses {
            Ok(all) => {
                let mut last = io::Error::other("the name has no address");
                for address in all {
                    match TcpStream::connect_timeout(&address, Duration::from_secs(2)) {
                        Ok(stream) => return Ok(stream),
                        Err(error) => last = error,
                    }
                }
                last
            }
            Err(error) => error,
        };
        if begun.elapsed() >= limit {
            return Err(unreachable(&format!("{to} can't be reached"), error));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Waits for a connection, but not for ever.
pub(crate) fn accept(listener: &TcpListener, until: Instant) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if is_late(&error) && Instant::now() < until => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

impl Heart {
    /// Rank 0's part: waits until all have come, and tells everybody where everybody is reached. `card` is where it is
    /// reached itself.
    ///
    /// # Errors
    /// [`Error::Lost`] if one does not come in time, [`Error::Config`] if two say that they are the same.
    pub fn lead(
        hub: &TcpListener,
        size: usize,
        card: &str,
        limits: Limits,
    ) -> Result<(Self, Vec<String>)> {
        let until = Instant::now() + limits.arrival;
        let mut lines: Vec<Option<TcpStream>> = (1..size).map(|_| None).collect();
        let mut roster = vec![card.to_owned(); size];
        while let Some(missing) = lines.iter().position(Option::is_none) {
            let line = accept(hub, until).map_err(|_| Error::Lost {
                rank: Rank(missing + 1),
                why: format!("it has not come within {:.0} s", limits.arrival.as_secs_f64()),
            })?;
            let _ = line.set_read_timeout(Some(Duration::from_secs(2)));
            let Ok(Frame::Hello(rank, their_size, card)) = Frame::read(&line) else {
                continue; // a stranger
            };
            let wrong = if their_size != size {
                Some(format!("a rank counts {their_size} ranks, and rank 0 counts {size}"))
            } else if rank == 0 || rank >= size {
                Some(format!(
                    "a process says that it is rank {rank}; ranks go from 0 to {}",
                    size - 1
                ))
            } else if lines[rank - 1].is_some() {
                Some(format!("two processes say that they are rank {rank}"))
            } else {
                None
            };
            if let Some(why) = wrong {
                let why = format!(
                    "{why}; start each with its own rank and all with the same number of ranks"
                );
                let refused = Frame::Refused(why.clone());
                lines.iter().flatten().chain([&line]).for_each(|line| {
                    let _ = refused.write(line);
                });
                return Err(Error::Config(why));
            }
            roster[rank] = card;
            lines[rank - 1] = Some(line);
        }
        let lines: Vec<TcpStream> = lines.into_iter().flatten().collect();
        for line in &lines {
            let _ = Frame::Roster(roster.clone()).write(line); // who is gone by now will be missed
        }
        let lines = lines.into_iter().enumerate().map(|(at, line)| (Rank(at + 1), line));
        Ok((Self::start(Rank(0), lines.collect(), limits)?, roster))
    }

    /// Another rank's part, on its connection to rank 0. `card` is where it is reached.
    ///
    /// # Errors
    /// [`Error::Config`] with rank 0's words if it refuses, [`Error::Lost`] if it ends or is silent.
    pub fn follow(
        hub: TcpStream,
        rank: Rank,
        size: usize,
        card: &str,
        limits: Limits,
    ) -> Result<(Self, Vec<String>)> {
        let lost = |why: String| Error::Lost { rank: Rank(0), why };
        let hello = Frame::Hello(rank.0, size, card.to_owned());
        hello.write(&hub).map_err(|e| lost(format!("it does not listen ({e})")))?;
        let _ = hub.set_read_timeout(Some(limits.arrival + Duration::from_secs(5)));
        match Frame::read(&hub) {
            Ok(Frame::Roster(roster)) if roster.len() == size => {
                Ok((Self::start(rank, vec![(Rank(0), hub)], limits)?, roster))
            }
            Ok(Frame::Refused(why)) => Err(Error::Config(why)),
            Ok(_) => Err(lost("it is another program".into())),
            Err(error) => Err(lost(format!("it ended before all had come ({error})"))),
        }
    }

    fn start(me: Rank, lines: Vec<(Rank, TcpStream)>, limits: Limits) -> Result<Self> {
        let failed = |e: io::Error| unreachable("a connection can't be set up", e);
        let mut writers = Vec::new();
        for (_, line) in &lines {
            line.set_read_timeout(Some(limits.silence)).map_err(failed)?;
            line.set_write_timeout(Some(Duration::from_secs(1))).map_err(failed)?;
            line.set_nodelay(true).map_err(failed)?;
            writers.push(line.try_clone().map_err(failed)?);
        }
        let shared = Arc::new(Shared {
            me,
            limits,
            verdict: Mutex::new(None),
            told: Condvar::new(),
            over: AtomicBool::new(false),
            open: AtomicUsize::new(lines.len()),
            lines: Mutex::new(writers),
        });
        for (rank, line) in lines {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.listen(rank, &line);
                shared.open.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let beating = Arc::clone(&shared);
        thread::spawn(move || {
            while !beating.over.load(Ordering::Relaxed) {
                beating.tell(&Frame::Beat);
                thread::sleep(beating.limits.beat);
            }
        });
        Ok(Self { shared })
    }

    /// Who ended the run, if somebody did.
    pub fn verdict(&self) -> Option<Verdict> {
        lock(&self.shared.verdict).clone()
    }

    /// The same, waiting a little for it: a connection breaks before it is known why.
    pub fn verdict_within(&self, limit: Duration) -> Option<Verdict> {
        let verdict = lock(&self.shared.verdict);
        let waited =
            self.shared.told.wait_timeout_while(verdict, limit, |verdict| verdict.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Tells the others why this rank ends.
    pub fn failed(&self, why: &str) {
        if self.shared.me == Rank(0) {
            self.shared.decide(Verdict { rank: Rank(0), end: End::Lost(why.to_owned()) });
        } else {
            self.shared.tell(&Frame::Failed(why.to_owned()));
        }
    }

    /// Tells the others that this rank is done, so that its end is no loss.
    pub fn done(&self) {
        self.shared.tell(&Frame::Done);
        self.shared.over.store(true, Ordering::Relaxed);
    }

    /// Ends this process with a sentence when a rank is lost: for engines whose waiting can't be interrupted.
    pub fn end_process_when_lost(&self) {
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            while !shared.over.load(Ordering::Relaxed) {
                let verdict = lock(&shared.verdict).clone();
                if let Some(verdict) = verdict {
                    // Leave the main thread a moment to say it itself.
                    thread::sleep(Duration::from_secs(1));
                    if !shared.over.load(Ordering::Relaxed) {
                        eprintln!("error: rank {}: {}", shared.me, Error::from(verdict));
                        std::process::exit(1);
                    }
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        if thread::panicking() {
            self.failed("it panicked");
        }
        self.shared.over.store(true, Ordering::Relaxed);
        let lines = std::mem::take(&mut *lock(&self.shared.lines));
        for line in &lines {
            let _ = line.shutdown(std::net::Shutdown::Write);
        }
        // What was told must arrive before the connection goes.
        let begun = Instant::now();
        while self.shared.open.load(Ordering::Relaxed) > 0
            && begun.elapsed() < Duration::from_secs(1)
        {
            thread::sleep(Duration::from_millis(5));
        }
        for line in &lines {
            let _ = line.shutdown(std::net::Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Limits = Limits {
        beat: Duration::from_millis(50),
        silence: Duration::from_millis(800),
        arrival: Duration::from_secs(5),
        numbers: Duration::from_secs(5),
    };

    fn hub() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, address)
    }

    /// Hearts of so many ranks, each with the roster.
    fn hearts(size: usize) -> Vec<(Heart, Vec<String>)> {
        let (listener, address) = hub();
        let others: Vec<_> = (1..size)
            .map(|rank| {
                let address = address.clone();
                thread::spawn(move || {
                    let line = connect(&address, QUICK.arrival).unwrap();
                    Heart::follow(line, Rank(rank), size, &format!("at {rank}"), QUICK).unwrap()
                })
            })
            .collect();
        let first = Heart::lead(&listener, size, "at 0", QUICK).unwrap();
        let others = others.into_iter().map(|thread| thread.join().unwrap());
        std::iter::once(first).chain(others).collect()
    }

    #[test]
    fn every_frame_comes_back() {
        let (listener, address) = hub();
        let sender = TcpStream::connect(address).unwrap();
        let receiver = listener.accept().unwrap().0;
        let lost = Verdict { rank: Rank(7), end: End::Lost("a\nb".into()) };
        let silent = Verdict { rank: Rank(2), end: End::Silent(6.5) };
        let frames = [
            Frame::Hello(1, 4, "10.0.0.2:99".into()),
            Frame::Roster(vec!["a:1".into(), "b:2".into()]),
            Frame::Refused("no".into()),
            Frame::Beat,
            Frame::Done,
            Frame::Failed("the disk is full".into()),
            Frame::Over(lost),
            Frame::Over(silent),
        ];
        for frame in frames {
            frame.write(&sender).unwrap();
            assert_eq!(Frame::read(&receiver).unwrap(), frame);
        }
        (&sender).write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(Frame::read(&receiver).is_err());
    }

    #[test]
    fn everybody_learns_where_everybody_is() {
        for (heart, roster) in &hearts(3) {
            assert_eq!(*roster, ["at 0", "at 1", "at 2"]);
            assert_eq!(heart.verdict(), None);
        }
    }

    #[test]
    fn a_rank_that_fails_is_named_to_all_with_its_words() {
        for failing in [0, 2] {
            let hearts = hearts(3);
            hearts[failing].0.failed("its disk is full");
            for (rank, (heart, _)) in hearts.iter().enumerate() {
                if rank != failing {
                    let verdict = heart.verdict_within(Duration::from_secs(3)).unwrap();
                    let end = End::Lost("its disk is full".into());
                    assert_eq!(verdict, Verdict { rank: Rank(failing), end });
                }
            }
        }
    }

    #[test]
    fn a_rank_that_goes_without_a_word_is_lost_and_one_that_is_done_is_not() {
        let mut hearts = hearts(4);
        hearts[3].0.done();
        hearts.remove(3);
        thread::sleep(Duration::from_millis(200));
        assert!(hearts.iter().all(|(heart, _)| heart.verdict().is_none()));
        hearts.remove(1);
        let verdict = hearts[1].0.verdict_within(Duration::from_secs(3)).unwrap();
        assert_eq!(verdict.rank, Rank(1));
        assert!(matches!(verdict.end, End::Lost(_)));
    }

    #[test]
    fn silence_is_not_an_end_and_is_named_as_such() {
        let (listener, address) = hub();
        // A rank that comes and never beats, as one that is stopped.
        let line = TcpStream::connect(address).unwrap();
        Frame::Hello(1, 2, String::new()).write(&line).unwrap();
        let (heart, _) = Heart::lead(&listener, 2, "", QUICK).unwrap();
        let verdict = heart.verdict_within(Duration::from_secs(4)).unwrap();
        assert_eq!(verdict, Verdict { rank: Rank(1), end: End::Silent(0.8) });
        let words = Error::from(verdict).to_string();
        assert!(words.starts_with("rank 1 has not answered for 1 s"), "{words}");
    }

    #[test]
    fn those_who_do_not_come_or_come_twice_are_named() {
        let (listener, address) = hub();
        let short = Limits { arrival: Duration::from_millis(300), ..QUICK };
        let error = Heart::lead(&listener, 3, "", short).unwrap_err().to_string();
        assert!(error.starts_with("rank 1 is gone: it has not come within"), "{error}");
        let twice: Vec<_> = (0..2)
            .map(|_| {
                let line = connect(&address, QUICK.arrival).unwrap();
                thread::spawn(move || Heart::follow(line, Rank(1), 3, "", QUICK).map(|_| ()))
            })
            .collect();
        let error = Heart::lead(&listener, 3, "", QUICK).unwrap_err().to_string();
        assert!(error.starts_with("two processes say that they are rank 1"), "{error}");
        for thread in twice {
            assert_eq!(thread.join().unwrap().unwrap_err().to_string(), error);
        }
    }
}
