//! Ranks that are processes, on one machine or on several, with TCP between them: what MPI does underneath, in the
//! standard library and serde alone.
//!
//! One connection joins each pair. A thread for each takes what comes off it at once, so that two ranks can send to each
//! other at the same time, however much; it also hears the signs of life between the numbers (see
//! [`detector`](crate::replicas::detector)).

use crate::{
    communicator::Communicator,
    error::{Error, Result},
    point_to_point::PointToPoint,
    rank::Rank,
    replicas::{
        detector::{Detector, LOOK, Limits, is_late, lock},
        frame::Frame,
        rendezvous::{self, Look, failed},
    },
};
use std::{
    io::{self, Write},
    net::TcpListener,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a rank whose connection broke waits to hear why.
const WHY: Duration = Duration::from_secs(2);

/// A rank that lives takes some of what it is sent in this time.
const STALLED: Duration = Duration::from_secs(1);

/// A rank that is a process.
#[derive(Debug)]
pub struct Tcp {
    detector: Arc<Detector>,
    /// From each rank.
    messages: Vec<Receiver<Vec<f32>>>,
    limits: Limits,
}

impl Tcp {
    /// Rank 0 of `size`, at an address that the others know. `look` says whether to go on waiting for them.
    ///
    /// # Errors
    /// As [`rendezvous::lead`].
    pub fn lead(hub: &TcpListener, size: usize, limits: Limits, look: Look) -> Result<Self> {
        let (detector, messages) = Detector::new(Rank(0), size, limits);
        rendezvous::lead(hub, &detector, limits, look)?;
        Ok(Self { detector: Arc::new(detector), messages, limits })
    }

    /// Another rank: it goes to rank 0's address.
    ///
    /// # Errors
    /// As [`rendezvous::follow`].
    pub fn follow(hub: &str, rank: Rank, size: usize, limits: Limits, look: Look) -> Result<Self> {
        let (detector, messages) = Detector::new(rank, size, limits);
        rendezvous::follow(hub, &detector, limits, look)?;
        Ok(Self { detector: Arc::new(detector), messages, limits })
    }

    /// Who am I?
    pub fn rank(&self) -> Rank {
        self.detector.rank()
    }

    /// The watch over the other processes. They hear that this one is done when it is told so, or that it is gone.
    pub fn detector(&self) -> Arc<Detector> {
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

impl PointToPoint for Tcp {
    fn rank(&self) -> Rank {
        self.detector.rank()
    }

    fn size(&self) -> usize {
        self.detector.size()
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
            return Err(other_length(from, got.len(), data.len()));
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
/// The first rank's error, in the order of ranks.
pub fn run<T: Send>(size: usize, work: impl Fn(Tcp) -> Result<T> + Sync) -> Result<Vec<T>> {
    let hub = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = hub.local_addr().map_err(failed)?.to_string();
    thread::scope(|scope| {
        let (work, hub) = (&work, &hub);
        let ranks = (0..size).map(|rank| {
            let address = address.clone();
            scope.spawn(move || {
                let (limits, look) = (Limits::default(), &mut || Ok(()));
                let tcp = match rank {
                    0 => Tcp::lead(hub, size, limits, look),
                    _ => Tcp::follow(&address, Rank(rank), size, limits, look),
                }?;
                let detector = tcp.detector();
                let result = work(tcp)?;
                detector.done();
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
    use crate::replicas::frame::{End, Failure, Hello, PROTOCOL};
    use std::net::TcpStream;

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

    fn hello(rank: usize, size: usize) -> Frame {
        let address = Some("127.0.0.1:9".parse().unwrap());
        Frame::Hello(Hello { protocol: PROTOCOL.into(), rank: Rank(rank), size, address })
    }

    /// So many ranks; those that are not in `come` do not come.
    fn ranks(size: usize, come: &[usize], limits: Limits) -> Vec<Result<Tcp>> {
        let (listener, address) = hub();
        thread::scope(|scope| {
            let (listener, address) = (&listener, address.as_str());
            let all: Vec<_> = come
                .iter()
                .map(|rank| {
                    scope.spawn(move || match rank {
                        0 => Tcp::lead(listener, size, limits, &mut || Ok(())),
                        _ => Tcp::follow(address, Rank(*rank), size, limits, &mut || Ok(())),
                    })
                })
                .collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn all(size: usize) -> Vec<Arc<Detector>> {
        let come: Vec<usize> = (0..size).collect();
        ranks(size, &come, QUICK).into_iter().map(|tcp| tcp.unwrap().detector()).collect()
    }

    #[test]
    fn a_rank_that_fails_is_named_to_all_with_its_words() {
        for failing in [0, 2] {
            let detectors = all(3);
            detectors[failing].failed(&Error::Config("its disk is full".into()));
            for detector in &detectors {
                let failure = detector.failure_within(Duration::from_secs(3)).unwrap();
                let end = End::Lost("its disk is full".into());
                assert_eq!(failure, Failure { rank: Rank(failing), end });
            }
        }
    }

    #[test]
    fn a_rank_that_goes_without_a_word_is_lost_and_one_that_is_done_is_not() {
        let mut detectors = all(4);
        detectors[3].done();
        detectors.remove(3);
        thread::sleep(Duration::from_millis(200));
        assert!(detectors.iter().all(|detector| detector.failure().is_none()));
        detectors.remove(1);
        for detector in &detectors {
            let failure = detector.failure_within(Duration::from_secs(3)).unwrap();
            assert_eq!(failure.rank, Rank(1));
            assert!(matches!(failure.end, End::Lost(_)));
        }
    }

    #[test]
    fn silence_is_not_an_end_and_is_named_as_such() {
        let (listener, address) = hub();
        // A rank that comes and gives no sign of life, as one that is stopped.
        let mut line = TcpStream::connect(address).unwrap();
        line.write_all(&hello(1, 2).header()).unwrap();
        let tcp = Tcp::lead(&listener, 2, QUICK, &mut || Ok(())).unwrap();
        let failure = tcp.detector().failure_within(Duration::from_secs(4)).unwrap();
        assert_eq!(failure, Failure { rank: Rank(1), end: End::Silent(0.8) });
        let words = Error::from(failure).to_string();
        assert!(words.starts_with("rank 1 has not answered for 1 s"), "{words}");
    }

    #[test]
    fn who_is_lost_before_all_have_come_is_named_by_all() {
        // Rank 1 comes and stops; rank 3 has not come.
        let slow = Limits { arrival: Duration::from_secs(20), ..QUICK };
        let (listener, address) = hub();
        let begun = Instant::now();
        let mut line = TcpStream::connect(&address).unwrap();
        line.write_all(&hello(1, 4).header()).unwrap();
        let other = thread::spawn(move || {
            Tcp::follow(&address, Rank(2), 4, slow, &mut || Ok(())).unwrap_err().to_string()
        });
        let error = Tcp::lead(&listener, 4, slow, &mut || Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("rank 1 has not answered"), "{error}");
        assert_eq!(other.join().unwrap(), error);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn those_who_do_not_come_or_come_twice_are_named() {
        let short = Limits { arrival: Duration::from_millis(300), ..QUICK };
        let said = ranks(3, &[0], short);
        let error = said[0].as_ref().unwrap_err().to_string();
        assert!(error.starts_with("rank 1 is gone: it has not come within"), "{error}");
        for tcp in ranks(3, &[0, 1, 1], QUICK) {
            let error = tcp.unwrap_err().to_string();
            assert!(error.starts_with("two processes say that they are rank 1"), "{error}");
        }
    }

    #[test]
    fn a_rank_that_waits_for_others_can_be_told_to_stop() {
        let begun = Instant::now();
        let mut told =
            || if begun.elapsed() > LOOK { Err(Error::Config("enough".into())) } else { Ok(()) };
        let (listener, address) = hub();
        let slow = Limits { arrival: Duration::from_mins(5), ..QUICK };
        let error = Tcp::lead(&listener, 2, slow, &mut told).unwrap_err().to_string();
        assert_eq!(error, "enough");
        // A rank that waits for rank 0, whether somebody is there or not.
        let error = Tcp::follow(&address, Rank(1), 2, slow, &mut told).unwrap_err().to_string();
        assert_eq!(error, "enough");
        drop(listener);
        let error = Tcp::follow(&address, Rank(1), 2, slow, &mut told).unwrap_err().to_string();
        assert_eq!(error, "enough");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn strangers_do_not_keep_ranks_from_coming() {
        let (listener, address) = hub();
        // Thirty say nothing; one is slow, a byte at a time, behind the header of a long frame; one speaks HTTP.
        let silent: Vec<_> = (0..30).map(|_| TcpStream::connect(&address).unwrap()).collect();
        let mut slow = TcpStream::connect(&address).unwrap();
        slow.write_all(&(1_u32 << 15).to_le_bytes()).unwrap();
        thread::spawn(move || {
            while slow.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        });
        let mut web = TcpStream::connect(&address).unwrap();
        web.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let begun = Instant::now();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(500));
            Tcp::follow(&address, Rank(1), 2, QUICK, &mut || Ok(())).map(|tcp| tcp.rank())
        });
        let lead = Tcp::lead(&listener, 2, QUICK, &mut || Ok(())).unwrap();
        assert_eq!(other.join().unwrap().unwrap(), Rank(1));
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        drop((lead, silent));
    }

    #[test]
    fn a_message_of_any_length_ends_in_a_sentence() {
        for count in [1 << 33, 1 << 40, 1 << 62, u64::MAX] {
            let (listener, address) = hub();
            let mut line = TcpStream::connect(address).unwrap();
            let said = [hello(1, 2).header(), Frame::Numbers(count).header()].concat();
            line.write_all(&said).unwrap();
            let mut tcp = Tcp::lead(&listener, 2, QUICK, &mut || Ok(())).unwrap();
            let error = tcp.receive(Rank(1), &mut [0.0]).unwrap_err().to_string();
            assert!(error.starts_with("rank 1 is gone: it says what no rank says"), "{error}");
        }
    }
}
