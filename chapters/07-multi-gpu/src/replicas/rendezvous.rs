//! How processes find each other: all come to rank 0, hear from it where each listens, and connect to those before them.
//!
//! Whoever has come is watched from then on. Connections that say nothing are nobody's: they wait side by side with the
//! others, for two seconds.

use crate::{
    error::{Error, Result},
    rank::Rank,
    replicas::{
        detector::{Detector, Limits, is_late},
        frame::{End, Failure, Frame, Hello, PROTOCOL},
    },
};
use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    thread,
    time::{Duration, Instant},
};

/// What a rank looks at while it waits for others: whether to go on.
pub type Look<'a> = &'a mut dyn FnMut() -> Result<()>;

/// How long a connection may take to say who it is.
const GREETING: Duration = Duration::from_secs(2);

/// The most connections that have not said so; the oldest one goes first.
const MOST_STRANGERS: usize = 256;

/// How often a rank that waits for others looks for them.
const PAUSE: Duration = Duration::from_millis(5);

/// A connection that could not be made.
pub fn failed(error: impl std::fmt::Display) -> Error {
    Error::Config(format!(
        "a connection between ranks can't be made ({error}); see that no firewall is between them, then start all again"
    ))
}

/// Connections that have come and have not said yet who they are.
struct Arrivals<'a> {
    listener: &'a TcpListener,
    strangers: VecDeque<(TcpStream, Instant)>,
}

impl<'a> Arrivals<'a> {
    fn at(listener: &'a TcpListener) -> Result<Self> {
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, strangers: VecDeque::new() })
    }

    /// Those who have said by now who they are. It does not wait.
    fn come(&mut self) -> Vec<(Hello, TcpStream)> {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                self.strangers.push_back((stream, Instant::now()));
            }
            if self.strangers.len() > MOST_STRANGERS {
                self.strangers.pop_front();
            }
        }
        let mut come = Vec::new();
        for (stream, since) in std::mem::take(&mut self.strangers) {
            match hello(&stream) {
                Ok(Some(hello)) => come.push((hello, stream)),
                Ok(None) if since.elapsed() < GREETING => self.strangers.push_back((stream, since)),
                Ok(None) | Err(_) => {} // not a rank
            }
        }
        come
    }
}

/// Who this is, if it has said so; nothing behind it is taken off.
fn hello(mut stream: &TcpStream) -> io::Result<Option<Hello>> {
    let mut seen = [0; 512];
    let length = match stream.peek(&mut seen) {
        Err(error) if is_late(&error) => return Ok(None),
        length => length?,
    };
    let mut rest = &seen[..length];
    let hello = match Frame::read(&mut rest) {
        Ok((Frame::Hello(hello), _)) if hello.protocol == PROTOCOL => hello,
        Err(error)
            if error.kind() == io::ErrorKind::UnexpectedEof && 0 < length && length < 512 =>
        {
            return Ok(None); // not all of it has come
        }
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    let said = length - rest.len();
    stream.set_nonblocking(false)?;
    stream.read_exact(&mut seen[..said])?;
    Ok(Some(hello))
}

/// Connects, again and again until the limit: the other one may start last.
fn connect(to: &str, limit: Duration, look: Look) -> Result<TcpStream> {
    let begun = Instant::now();
    loop {
        look()?;
        let connected = to.to_socket_addrs().and_then(|addresses| {
            let mut last = io::Error::other("the name has no address");
            for address in addresses {
                match TcpStream::connect_timeout(&address, GREETING) {
                    Ok(stream) => return Ok(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) if begun.elapsed() >= limit => {
                return Err(Error::Config(format!(
                    "{to} can't be reached ({error}); see that rank 0 runs, that its address is right and that no \
                     firewall is between"
                )));
            }
            Err(_) => thread::sleep(10 * PAUSE),
        }
    }
}

/// What is wrong with somebody who comes to rank 0.
fn wrong(hello: &Hello, size: usize, detector: &Detector) -> Option<String> {
    let Hello { rank: Rank(rank), size: theirs, .. } = *hello;
    if theirs != size {
        Some(format!("a rank counts {theirs} ranks, and rank 0 counts {size}"))
    } else if rank == 0 || rank >= size {
        Some(format!("a process says that it is rank {rank}; ranks go from 0 to {}", size - 1))
    } else if detector.line(Rank(rank)).is_some() {
        Some(format!("two processes say that they are rank {rank}"))
    } else {
        None
    }
}

/// Tells somebody who is not taken in, and waits a moment until it has heard it.
fn refuse(mut stream: &TcpStream, why: &str) -> io::Result<()> {
    let refused = Failure { rank: Rank(0), end: End::Refused(why.to_owned()) };
    stream.write_all(&Frame::Over(refused).header())?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.take(1 << 10).read_to_end(&mut Vec::new()).map(|_| ())
}

/// Rank 0's part: waits until all have come, and tells everybody where everybody listens.
///
/// # Errors
/// [`Error::Lost`] or [`Error::Silent`] if one does not come or is gone again, [`Error::Config`] if they do not fit
/// together, and what `look` says. Those who have come hear it, too.
pub fn lead(hub: &TcpListener, detector: &Detector, limits: Limits, look: Look) -> Result<()> {
    let done = gather(hub, detector, limits, look);
    match &done {
        Err(Error::Config(why)) => detector.refuse(why),
        Err(error) => detector.failed(error),
        Ok(()) => {}
    }
    done
}

fn gather(hub: &TcpListener, detector: &Detector, limits: Limits, look: Look) -> Result<()> {
    let (mut arrivals, begun) = (Arrivals::at(hub)?, Instant::now());
    let size = detector.size();
    let mut roster = vec![None; size];
    while let Some(missing) = (1..size).find(|rank| detector.line(Rank(*rank)).is_none()) {
        look()?;
        detector.check()?;
        if begun.elapsed() > limits.arrival {
            let why = format!("it has not come within {:.0} s", limits.arrival.as_secs_f64());
            return Err(Error::Lost { rank: Rank(missing), why });
        }
        for (hello, stream) in arrivals.come() {
            if let Some(why) = wrong(&hello, size, detector) {
                let why = format!(
                    "{why}; start each with its own rank and all with the same number of ranks"
                );
                let _ = refuse(&stream, &why);
                return Err(Error::Config(why));
            }
            roster[hello.rank.0] = hello.address;
            detector.add(hello.rank, stream).map_err(failed)?;
        }
        thread::sleep(PAUSE);
    }
    detector.tell(&Frame::Roster(roster));
    Ok(())
}

/// Another rank's part: it goes to rank 0's address, waits for the list of all, connects to those before it and waits for
/// those after it.
///
/// # Errors
/// [`Error::Config`] with rank 0's words if it refuses, [`Error::Lost`] or [`Error::Silent`] if one ends or is silent, and
/// what `look` says.
pub fn follow(hub: &str, detector: &Detector, limits: Limits, look: Look) -> Result<()> {
    let (me, size) = (detector.rank(), detector.size());
    let line = connect(hub, limits.arrival, look)?;
    // Where rank 0 is reached from here, the others reach this rank.
    let ip = line.local_addr().map_err(failed)?.ip();
    let own = TcpListener::bind((ip, 0)).map_err(failed)?;
    let address = Some(own.local_addr().map_err(failed)?);
    let hello = Hello { protocol: PROTOCOL.into(), rank: me, size, address };
    let hello = Frame::Hello(hello).header();
    let greet = |rank: usize, mut line: TcpStream| {
        line.write_all(&hello)?;
        detector.add(Rank(rank), line)
    };
    greet(0, line).map_err(failed)?;
    let mut wait = || {
        look()?;
        thread::sleep(PAUSE);
        detector.check()
    };
    let roster = loop {
        match detector.roster() {
            Some(roster) => break roster,
            None => wait()?, // rank 0 lives, and knows how long to wait
        }
    };
    let listed = |rank: usize| {
        let address: Option<SocketAddr> = roster.get(rank).copied().flatten();
        address.ok_or_else(|| failed(format!("rank {rank} listens nowhere")))
    };
    for rank in 1..me.0 {
        let line = connect(&listed(rank)?.to_string(), limits.arrival, &mut wait)?;
        greet(rank, line).map_err(failed)?;
    }
    let (mut arrivals, begun) = (Arrivals::at(&own)?, Instant::now());
    while let Some(missing) = (me.0 + 1..size).find(|r| detector.line(Rank(*r)).is_none()) {
        wait()?;
        if begun.elapsed() > limits.arrival {
            return Err(Error::Lost { rank: Rank(missing), why: "it has not connected".into() });
        }
        for (hello, stream) in arrivals.come() {
            let new = detector.line(hello.rank).is_none();
            if new && hello.size == size && (me.0 + 1..size).contains(&hello.rank.0) {
                detector.add(hello.rank, stream).map_err(failed)?;
            }
        }
    }
    Ok(())
}
