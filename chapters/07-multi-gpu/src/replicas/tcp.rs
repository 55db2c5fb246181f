//! Ranks that are processes, on one machine or on several, with TCP between them: what MPI does underneath, in the
//! standard library alone.
//!
//! Rank 0 waits at an address. The others come there, learn where everybody is, and connect to each other: one line for
//! each pair. A thread for each line takes what comes off it at once, so that two ranks can send to each other at the
//! same time, however much. Beside it runs the [`heartbeat`](crate::replicas::heartbeat).

use crate::{
    Communicator, Error, Rank, Result,
    replicas::heartbeat::{Heart, Limits, accept, connect, is_late},
};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How often a rank that waits looks whether somebody was lost.
const LOOK: Duration = Duration::from_millis(100);

/// How long a rank whose line broke waits to hear why.
const WHY: Duration = Duration::from_secs(2);

/// A rank that is a process.
#[derive(Debug)]
pub struct Tcp {
    rank: Rank,
    lines: Vec<Option<Line>>,
    heart: Arc<Heart>,
    limits: Limits,
    bytes: Vec<u8>,
}

/// The line to one other rank.
#[derive(Debug)]
struct Line {
    out: TcpStream,
    messages: Receiver<Vec<f32>>,
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Config(format!(
        "a connection between ranks can't be made ({error}); see that no firewall is between them, then start all again"
    ))
}

impl Tcp {
    /// Rank 0 of `size`, at an address that the others know.
    ///
    /// # Errors
    /// [`Error::Lost`] if one does not come in time; [`Error::Config`] if they do not fit together.
    pub fn lead(hub: &TcpListener, size: usize, limits: Limits) -> Result<Self> {
        let ip = hub.local_addr().map_err(failed)?.ip();
        let own = TcpListener::bind((ip, 0)).map_err(failed)?;
        // Nobody connects to rank 0 here before rank 0 knows them all; its own line to each is the hub's port.
        let card = own.local_addr().map_err(failed)?.port().to_string();
        let (heart, roster) = Heart::lead(hub, size, &card, limits)?;
        Self::mesh(Rank(0), &roster, &own, None, heart, limits)
    }

    /// Another rank: it goes to rank 0's address.
    ///
    /// # Errors
    /// As [`Tcp::lead`].
    pub fn follow(hub: &str, rank: Rank, size: usize, limits: Limits) -> Result<Self> {
        let line = connect(hub, limits.arrival)?;
        // Where rank 0 is reached from here, the others reach this rank.
        let ip = line.local_addr().map_err(failed)?.ip();
        let hub_ip = line.peer_addr().map_err(failed)?.ip();
        let own = TcpListener::bind((ip, 0)).map_err(failed)?;
        let card = own.local_addr().map_err(failed)?.to_string();
        let (heart, roster) = Heart::follow(line, rank, size, &card, limits)?;
        Self::mesh(rank, &roster, &own, Some(hub_ip), heart, limits)
    }

    /// One line to each other rank: to those before it connects, those after it come.
    fn mesh(
        rank: Rank,
        roster: &[String],
        own: &TcpListener,
        hub: Option<std::net::IpAddr>,
        heart: Heart,
        limits: Limits,
    ) -> Result<Self> {
        let mut lines: Vec<Option<Line>> = roster.iter().map(|_| None).collect();
        for (other, card) in roster.iter().enumerate().take(rank.0) {
            // Rank 0 gives a port alone: its address is the one that it was found at.
            let address = match hub.filter(|_| other == 0) {
                Some(ip) => SocketAddr::new(ip, card.parse().map_err(failed)?).to_string(),
                None => card.clone(),
            };
            let mut stream = connect(&address, limits.arrival)?;
            stream.write_all(&(rank.0 as u64).to_le_bytes()).map_err(failed)?;
            lines[other] = Some(Line::new(stream)?);
        }
        let until = Instant::now() + limits.arrival;
        while let Some(missing) = (rank.0 + 1..roster.len()).find(|other| lines[*other].is_none()) {
            let come = accept(own, until);
            let lost = |_| Error::Lost { rank: Rank(missing), why: "it has not connected".into() };
            let mut stream = come.map_err(lost)?;
            let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
            let mut number = [0; 8];
            if stream.read_exact(&mut number).is_err() {
                continue; // a stranger
            }
            let other = u64::from_le_bytes(number) as usize;
            if let Some(place @ None) = lines.get_mut(other).filter(|_| other > rank.0) {
                *place = Some(Line::new(stream)?);
            }
        }
        Ok(Self { rank, lines, heart: Arc::new(heart), limits, bytes: Vec::new() })
    }

    /// The watch over the other processes.
    pub fn heart(&self) -> Arc<Heart> {
        Arc::clone(&self.heart)
    }

    /// A line to `rank` broke: by whose fault?
    fn broken(&self, rank: Rank) -> Error {
        let verdict = self.heart.verdict_within(WHY);
        verdict.map_or(Error::Lost { rank, why: "its connection has closed".into() }, Error::from)
    }

    /// Looks whether a wait for `rank` has to end.
    fn look(&self, rank: Rank, since: Instant) -> Result<()> {
        if let Some(verdict) = self.heart.verdict() {
            return Err(verdict.into());
        }
        if since.elapsed() > self.limits.numbers {
            return Err(Error::Silent { rank, seconds: since.elapsed().as_secs_f64() });
        }
        Ok(())
    }
}

/// The sentence for ranks that do not do the same.
fn other_length(from: Rank, sent: usize, waited_for: usize) -> Error {
    Error::Config(format!(
        "rank {from} sent {sent} numbers where {waited_for} are waited for; all ranks must run the same program"
    ))
}

/// Takes messages off a line until it breaks.
fn take(mut from: &TcpStream, to: &Sender<Vec<f32>>) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let mut head = [0; 8];
        from.read_exact(&mut head)?;
        bytes.resize(4 * u64::from_le_bytes(head) as usize, 0);
        from.read_exact(&mut bytes)?;
        let numbers = bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
        if to.send(numbers.collect()).is_err() {
            return Ok(()); // nobody waits for it any more
        }
    }
}

impl Line {
    fn new(out: TcpStream) -> Result<Self> {
        out.set_nodelay(true).map_err(failed)?;
        out.set_read_timeout(None).map_err(failed)?;
        out.set_write_timeout(Some(LOOK)).map_err(failed)?;
        let from = out.try_clone().map_err(failed)?;
        let (send, messages) = channel();
        // It ends when the connection does: at the latest with this process.
        thread::spawn(move || take(&from, &send));
        Ok(Self { out, messages })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.out.shutdown(std::net::Shutdown::Both);
    }
}

impl Communicator for Tcp {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.lines.len()
    }

    // ANCHOR: send
    /// The number of numbers, then the numbers.
    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend((data.len() as u64).to_le_bytes());
        bytes.extend(data.iter().flat_map(|number| number.to_le_bytes()));
        let (mut rest, since) = (&bytes[..], Instant::now());
        let Some(line) = &self.lines[to.0] else {
            return Err(Error::Config("a rank can't send to itself".into()));
        };
        let mut out = &line.out;
        while !rest.is_empty() {
            match out.write(rest) {
                Ok(0) => return Err(self.broken(to)),
                Ok(written) => rest = &rest[written..],
                Err(error) if is_late(&error) => self.look(to, since)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.broken(to)),
            }
        }
        self.bytes = bytes;
        Ok(())
    }
    // ANCHOR_END: send

    // ANCHOR: receive
    /// Waits in short pieces, and looks in between whether all are there.
    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        let since = Instant::now();
        let Some(line) = &self.lines[from.0] else {
            return Err(Error::Config("a rank can't receive from itself".into()));
        };
        let got = loop {
            match line.messages.recv_timeout(LOOK) {
                Ok(got) => break got,
                Err(RecvTimeoutError::Timeout) => self.look(from, since)?,
                Err(_) => return Err(self.broken(from)), // the line broke
            }
        };
        if got.len() != data.len() {
            return Err(other_length(from, got.len(), data.len()));
        }
        data.copy_from_slice(&got);
        Ok(())
    }
    // ANCHOR_END: receive

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.send(to, send)?; // the other side always takes it off
        self.receive(from, receive)
    }
}

/// Runs `work` on `size` ranks that are threads of this process and talk by TCP: for tests and measurements.
///
/// # Errors
/// The first rank's error, in the order of ranks.
pub fn run<T: Send>(size: usize, work: impl Fn(Tcp) -> Result<T> + Sync) -> Result<Vec<T>> {
    let hub = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = hub.local_addr().map_err(failed)?.to_string();
    thread::scope(|scope| {
        let (work, hub) = (&work, &hub);
        let ranks = (0..size).map(|rank| {
            let address = address.clone();
            scope.spawn(move || {
                let limits = Limits::default();
                let tcp = match rank {
                    0 => Tcp::lead(hub, size, limits),
                    _ => Tcp::follow(&address, Rank(rank), size, limits),
                };
                let tcp = tcp?;
                let heart = tcp.heart();
                let result = work(tcp)?;
                heart.done();
                Ok(result)
            })
        });
        let ranks: Vec<_> = ranks.collect();
        let panicked = |rank| Error::Lost { rank: Rank(rank), why: "it panicked".into() };
        let results = ranks.into_iter().enumerate();
        results.map(|(rank, thread)| thread.join().map_err(|_| panicked(rank))?).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_threads_say() {
        for size in [1, 2, 3, 5] {
            for len in [0, 1, 4, 1000] {
                let work = |comm: &mut dyn Communicator| {
                    let me = comm.rank().0;
                    let mut sum: Vec<f32> = (0..len).map(|i| (i + 10 * me) as f32 * 0.1).collect();
                    comm.all_reduce(&mut sum)?;
                    let mut told = vec![me as f32; 3];
                    comm.broadcast(Rank(size - 1), &mut told)?;
                    comm.barrier()?;
                    Ok((sum, told))
                };
                let tcp = run(size, |mut comm| work(&mut comm));
                let threads = crate::threads::run(size, |mut comm| work(&mut comm));
                // Bit for bit: the sums are taken in the same order.
                assert_eq!(tcp.unwrap(), threads.unwrap(), "{size} ranks, {len} numbers");
            }
        }
    }

    #[test]
    fn long_messages_cross_without_a_deadlock() {
        let numbers = 2_000_000; // 8 MB, more than any buffer between them
        let got = run(2, |mut comm| {
            let other = Rank(1 - comm.rank().0);
            let mine = vec![comm.rank().0 as f32; numbers];
            let mut theirs = vec![0.5; numbers];
            comm.exchange(other, &mine, other, &mut theirs)?;
            comm.barrier()?;
            Ok(theirs[numbers - 1])
        });
        assert_eq!(got.unwrap(), [1.0, 0.0]);
    }

    #[test]
    fn a_rank_that_leaves_is_named_by_all_not_its_neighbours() {
        let said = std::sync::Mutex::new(Vec::new());
        let result = run(4, |mut comm| {
            if comm.rank() == Rank(2) {
                return Err(Error::Config("rank 2 leaves without a word".into()));
            }
            let error = comm.all_reduce(&mut vec![1.0; 1000]).unwrap_err();
            said.lock().unwrap().push(error.to_string());
            Err::<(), _>(error)
        });
        assert!(result.is_err());
        let said = said.into_inner().unwrap();
        assert_eq!(said.len(), 3);
        assert!(said.iter().all(|words| words.starts_with("rank 2 is gone: ")), "{said:?}");
    }
}
