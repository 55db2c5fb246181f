//! How processes find each other: all come to rank 0, hear from it where each listens, and connect to those before them.
//!
//! A rank that has come is watched. A connection that does not identify itself as a rank delays no other.

use crate::replicas::{
    detector::Detector,
    frame::{Failure, Frame, Hello, PROTOCOL},
};
use crate::{Error, Rank, Result};
use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// What a rank looks at while it waits for others: whether to go on.
pub type Look<'a> = &'a mut dyn FnMut() -> Result<()>;

/// How long a connection may take to be made, and to identify itself.
const GREETING: Duration = Duration::from_secs(2);

/// More bytes than a rank needs to identify itself.
const MOST_HELLO: u64 = 512;

/// A connection that could not be made.
pub fn failed(error: impl std::fmt::Display) -> Error {
    Error::Config(format!(
        "a connection between ranks can't be made ({error}); see that no firewall is between them, then start all again"
    ))
}

/// Waits a moment for others; fails if there is no reason to wait any longer.
fn pause(detector: &Detector, look: Look) -> Result<()> {
    look()?;
    thread::sleep(Duration::from_millis(5));
    detector.check()
}

/// Connects, again and again until the limit: the other one may start last.
fn connect(to: &str, detector: &Detector, look: Look) -> Result<TcpStream> {
    let begun = Instant::now();
    loop {
        pause(detector, look)?;
        let connected = to.to_socket_addrs().and_then(|addresses| {
            let none = Err(io::Error::other("the name has no address"));
            let one = |address| TcpStream::connect_timeout(&address, GREETING);
            addresses.fold(none, |before, address| before.or_else(|_| one(address)))
        });
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error)
                if error.kind() == io::ErrorKind::InvalidInput // no address will do
                    || begun.elapsed() >= detector.limits.arrival =>
            {
                return Err(Error::Config(format!(
                    "{to} can't be reached ({error}); see that rank 0 runs, that its address is right and that no \
                     firewall is between"
                )));
            }
            Err(_) => {}
        }
    }
}

/// Who has connected, if it is a rank.
fn hello(stream: &TcpStream) -> Option<Hello> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(GREETING)).ok()?;
    match Frame::read(&mut stream.take(MOST_HELLO)) {
        Ok((Frame::Hello(hello), _)) => Some(hello),
        _ => None,
    }
}

/// What is wrong with a rank that comes.
fn wrong(hello: &Hello, detector: &Detector) -> Option<String> {
    let (Rank(rank), me, size) = (hello.rank, detector.rank.0, detector.size());
    if hello.protocol != PROTOCOL {
        return Some(format!(
            "rank {rank} speaks {:?}, and rank {me} {PROTOCOL:?}: it is of another version of this program; copy one build \
             to all machines",
            hello.protocol
        ));
    }
    let why = if hello.size != size {
        format!("a rank counts {} ranks, and rank {me} counts {size}", hello.size)
    } else if rank <= me || rank >= size {
        format!("a process comes to rank {me} of {size} and says that it is rank {rank}")
    } else if detector.line(hello.rank).is_some() {
        format!("two processes say that they are rank {rank}")
    } else {
        return None;
    };
    Some(format!("{why}; start each with its own rank and all with the same number of ranks"))
}

/// What the others hear of an error that keeps ranks from coming together.
pub fn told(detector: &Detector, error: &Error) -> Failure {
    match error {
        Error::Config(why) => Failure::Refused(why.clone()),
        error => Failure::of(detector.rank, error),
    }
}

/// Tells a process that it need not wait, and waits a moment until it has read that.
fn refuse(mut stream: &TcpStream, why: Failure) -> io::Result<()> {
    stream.write_all(&Frame::Over(why).header())?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.take(1 << 10).read_to_end(&mut Vec::new()).map(|_| ())
}

/// Who has connected, and as which rank.
type Guest = (Hello, TcpStream);

/// Lets those who have connected identify themselves side by side, for many may be silent.
fn welcome(listener: &TcpListener, come: &Sender<Guest>) -> Result<()> {
    while let Ok((stream, _)) = listener.accept() {
        let come = come.clone();
        let greeted = move || come.send((hello(&stream)?, stream)).ok();
        thread::Builder::new().spawn(greeted).map_err(failed)?;
    }
    Ok(())
}

/// Waits until all ranks after this one have come. Returns where each of them listens. If that fails, all hear why who have
/// connected by then.
fn gather(listener: &TcpListener, detector: &Arc<Detector>, look: Look) -> Result<Vec<SocketAddr>> {
    listener.set_nonblocking(true).map_err(failed)?;
    let (send, come) = channel();
    let roster = wait(listener, (&send, &come), detector, look);
    roster.inspect_err(|error| {
        detector.decide(told(detector, error));
        let _ = welcome(listener, &send);
        drop(send);
        while let (Ok((_, stream)), Some(why)) =
            (come.recv_timeout(GREETING), detector.failure_within(Duration::ZERO))
        {
            let _ = refuse(&stream, why);
        }
    })
}

/// The wait itself.
fn wait(
    listener: &TcpListener,
    (send, come): (&Sender<Guest>, &Receiver<Guest>),
    detector: &Arc<Detector>,
    look: Look,
) -> Result<Vec<SocketAddr>> {
    let mut roster = vec![listener.local_addr().map_err(failed)?; detector.size()];
    let begun = Instant::now();
    let others = (detector.rank.0 + 1..detector.size()).map(Rank);
    while let Some(rank) = others.clone().find(|rank| detector.line(*rank).is_none()) {
        pause(detector, look)?;
        if begun.elapsed() > detector.limits.arrival {
            let seconds = detector.limits.arrival.as_secs_f64();
            let why = format!("it has not come within {seconds:.0} s");
            return Err(Error::Lost { rank, why });
        }
        welcome(listener, send)?;
        for (hello, stream) in come.try_iter() {
            if let Some(why) = wrong(&hello, detector) {
                let _ = refuse(&stream, Failure::Refused(why.clone()));
                return Err(Error::Config(why));
            }
            roster[hello.rank.0] = hello.address;
            detector.add(hello.rank, stream).map_err(failed)?;
        }
    }
    Ok(roster)
}

/// Rank 0's part: waits until all have come, and tells all where each listens.
///
/// # Errors
/// [`Error::Lost`] or [`Error::Silent`] if one does not come or is gone again, [`Error::Config`] if they do not fit
/// together, and what `look` returns.
pub fn lead(hub: &TcpListener, detector: &Arc<Detector>, look: Look) -> Result<()> {
    let roster = gather(hub, detector, look)?;
    detector.tell(&Frame::Roster(roster));
    Ok(())
}

/// Another rank's part: it goes to rank 0's address, waits for the list of all, connects to those before it and waits for
/// those after it.
///
/// # Errors
/// As [`lead`]; [`Error::Config`] with rank 0's words if it refuses.
pub fn follow(hub: &str, detector: &Arc<Detector>, look: Look) -> Result<()> {
    let (rank, size) = (detector.rank, detector.size());
    let line = connect(hub, detector, look)?;
    // Where rank 0 is reached from here, the others reach this rank.
    let ip = line.local_addr().map_err(failed)?.ip();
    let own = TcpListener::bind((ip, 0)).map_err(failed)?;
    let address = own.local_addr().map_err(failed)?;
    let hello = Frame::Hello(Hello { protocol: PROTOCOL.into(), rank, size, address }).header();
    let greet = |rank: usize, mut line: TcpStream| {
        line.write_all(&hello)?;
        detector.add(Rank(rank), line)
    };
    greet(0, line).map_err(failed)?;
    let roster = loop {
        match detector.roster.get() {
            Some(roster) => break roster,
            None => pause(detector, look)?, // rank 0 lives, and knows how long to wait
        }
    };
    for (other, address) in roster.iter().enumerate().take(rank.0).skip(1) {
        let line = connect(&address.to_string(), detector, look)?;
        greet(other, line).map_err(failed)?;
    }
    gather(&own, detector, look).map(|_| ())
}
