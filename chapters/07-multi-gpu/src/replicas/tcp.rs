//! Ranks that are processes, on one machine or on several, with TCP between them: what MPI does underneath, in the
//! standard library and serde alone.
//!
//! One connection joins each pair. A thread for each takes what comes off it at once, so that two ranks can send to each
//! other at the same time, however much; it also hears the signs of life between the numbers (see
//! [`detector`](crate::replicas::detector)).

use crate::{
    Communicator, Error, PointToPoint, Rank, Result,
    point_to_point::{LOOK, Watch, other_length},
    replicas::{
        detector::{Detector, Limits, Watching, is_late},
        frame::Frame,
        rendezvous::{self, Look, failed},
    },
    split::group::lock,
    threads::{self, PATIENCE},
};
use std::{
    io::{self, Write},
    net::TcpListener,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

/// How long a rank whose connection broke waits to hear why.
const WHY: Duration = Duration::from_secs(2);

/// A rank that lives takes some of what it is sent in this time.
const STALLED: Duration = Duration::from_secs(1);

/// A rank that is a process.
pub struct Tcp {
    detector: Arc<Watching>,
    /// From each rank.
    messages: Vec<Receiver<Vec<f32>>>,
    patience: Duration,
}

impl Tcp {
    /// Rank 0 of `size`, at an address that the others know. `look` decides whether to go on waiting for them.
    ///
    /// # Errors
    /// As [`rendezvous::lead`].
    pub fn lead(hub: &TcpListener, size: usize, limits: Limits, look: Look) -> Result<Self> {
        Self::meet(Rank(0), size, limits, |detector| rendezvous::lead(hub, detector, look))
    }

    /// Another rank: it goes to rank 0's address.
    ///
    /// # Errors
    /// As [`rendezvous::follow`].
    pub fn follow(hub: &str, rank: Rank, size: usize, limits: Limits, look: Look) -> Result<Self> {
        Self::meet(rank, size, limits, |detector| rendezvous::follow(hub, detector, look))
    }

    /// A rank that meets the others; if it fails, those who have come hear why.
    fn meet(
        rank: Rank,
        size: usize,
        limits: Limits,
        way: impl FnOnce(&Arc<Detector>) -> Result<()>,
    ) -> Result<Self> {
        let (detector, messages) = Watching::start(rank, size, limits);
        way(&detector).inspect_err(|error| detector.decide(rendezvous::told(&detector, error)))?;
        Ok(Self { detector: Arc::new(detector), messages, patience: PATIENCE })
    }

    /// This rank now waits at most so long for another that lives.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.detector.rank
    }

    /// The watch over the other processes. They hear that this one is done when it is told so, or that it is gone.
    pub fn detector(&self) -> Arc<Watching> {
        Arc::clone(&self.detector)
    }

    /// The connection to `rank` broke: by whose fault?
    fn broken(&self, rank: Rank) -> Error {
        let failure = self.detector.failure_within(WHY);
        failure.map_or(Error::Lost { rank, why: "its connection has closed".into() }, Error::from)
    }

    /// Looks whether a wait for `rank` has to end.
    fn look(&self, rank: Rank, since: Instant) -> Result<()> {
        self.detector.check()?;
        if since.elapsed() > self.patience {
            return Err(Error::Silent { rank, seconds: since.elapsed().as_secs_f64() });
        }
        Ok(())
    }
}

impl PointToPoint for Tcp {
    fn rank(&self) -> Rank {
        self.detector.rank
    }

    fn size(&self) -> usize {
        self.detector.size()
    }

    fn watch(&self) -> Option<Watch> {
        let detector = self.detector();
        Some(Box::new(move || detector.check()))
    }

    // ANCHOR: send
    /// A header with the number of numbers, then the numbers.
    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        let Some(line) = self.detector.line(to) else {
            return Err(Error::Config("a rank can't send to itself".into()));
        };
        let mut bytes = Frame::Numbers(data.len() as u64).header();
        bytes.extend(data.iter().flat_map(|number| number.to_le_bytes()));
        let (mut line, mut rest) = (lock(line), &bytes[..]);
        let mut since = Instant::now();
        while !rest.is_empty() {
            match line.write(rest) {
                Ok(0) => return Err(self.broken(to)),
                Ok(written) => (rest, since) = (&rest[written..], Instant::now()),
                Err(error) if is_late(&error) && since.elapsed() < STALLED => {}
                Err(error) if is_late(&error) => self.look(to, since)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.broken(to)),
            }
        }
        Ok(())
    }
    // ANCHOR_END: send

    /// Waits in short pieces, and looks in between whether all are there.
    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        if self.detector.line(from).is_none() {
            return Err(Error::Config("a rank can't receive from itself".into()));
        }
        let since = Instant::now();
        let got = loop {
            match self.messages[from.0].recv_timeout(LOOK) {
                Ok(got) => break got,
                Err(RecvTimeoutError::Timeout) => self.look(from, since)?,
                Err(_) => return Err(self.broken(from)),
            }
        };
        if got.len() != data.len() {
            return Err(other_length((from, got.len()), (self.rank(), data.len())));
        }
        data.copy_from_slice(&got);
        Ok(())
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.send(to, send)?; // the other side always takes it off
        self.receive(from, receive)
    }
}

impl Communicator for Tcp {}

/// Runs `work` on `size` ranks that are threads of this process and talk by TCP: for tests and measurements.
///
/// # Errors
/// As [`threads::run`].
pub fn run<T: Send>(size: usize, work: impl Fn(Tcp) -> Result<T> + Sync) -> Result<Vec<T>> {
    run_within(Limits::default(), size, work)
}

/// [`run`] with other limits.
///
/// # Errors
/// As [`run`].
pub fn run_within<T: Send>(
    limits: Limits,
    size: usize,
    work: impl Fn(Tcp) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let hub = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = hub.local_addr().map_err(failed)?.to_string();
    threads::run(size, |thread| {
        let (rank, look) = (thread.rank(), &mut || Ok(()));
        let tcp = match rank {
            Rank(0) => Tcp::lead(&hub, size, limits, look),
            _ => Tcp::follow(&address, rank, size, limits, look),
        }?;
        let detector = tcp.detector();
        let result = work(tcp)?;
        detector.done();
        Ok(result)
    })
}
