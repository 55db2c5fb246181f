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
        detector::{Detector, Limits, Watching, is_late, lock},
        frame::{Failure, Frame},
        rendezvous::{self, Look, failed},
    },
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
        way(&detector).inspect_err(|error| match error {
            Error::Config(why) => detector.decide(Failure::Refused(why.clone())),
            error => detector.failed(error),
        })?;
        Ok(Self { detector: Arc::new(detector), messages })
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
        if since.elapsed() > PATIENCE {
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

fn run_within<T: Send>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicas::frame::{Hello, PROTOCOL};
    use std::{
        net::TcpStream,
        sync::{Barrier, Mutex},
        thread,
    };

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
        let (said, met) = (Mutex::new(Vec::new()), Barrier::new(4));
        let result = run(4, |mut comm| {
            met.wait(); // who is still being met when another leaves fails there, and says nothing here
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
    };

    fn hub() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, address)
    }

    fn hello(rank: usize, size: usize) -> Frame {
        let address = "127.0.0.1:9".parse().unwrap();
        Frame::Hello(Hello { protocol: PROTOCOL.into(), rank: Rank(rank), size, address })
    }

    fn lead(hub: &TcpListener, size: usize, limits: Limits) -> Result<Tcp> {
        Tcp::lead(hub, size, limits, &mut || Ok(()))
    }

    fn follow(hub: &str, rank: usize, size: usize, limits: Limits) -> Result<Tcp> {
        Tcp::follow(hub, Rank(rank), size, limits, &mut || Ok(()))
    }

    /// What in it does not match the others.
    fn refusal(tcp: Result<Tcp>) -> String {
        tcp.err().unwrap().to_string()
    }

    #[test]
    fn a_rank_that_fails_is_named_to_all_with_its_words() {
        for failing in [0, 2] {
            let met = Barrier::new(3);
            let heard = run_within(QUICK, 3, |comm| {
                met.wait();
                if comm.rank().0 == failing {
                    comm.detector.failed(&Error::Config("its disk is full".into()));
                }
                Ok(comm.detector.failure_within(Duration::from_secs(3)))
            });
            let wanted = Some(Failure::Lost(Rank(failing), "its disk is full".into()));
            assert!(heard.unwrap().iter().all(|heard| *heard == wanted));
        }
    }

    #[test]
    fn a_rank_that_is_done_may_leave() {
        let heard = run_within(QUICK, 4, |comm| {
            let patience = if comm.rank() == Rank(3) { 0 } else { 200 };
            Ok(comm.detector.failure_within(Duration::from_millis(patience)))
        });
        assert_eq!(heard.unwrap(), [const { None }; 4]);
    }

    #[test]
    fn silence_is_not_an_end_and_is_named_as_such() {
        let (listener, address) = hub();
        // A rank that comes and gives no sign of life, as one that is stopped.
        let mut line = TcpStream::connect(address).unwrap();
        line.write_all(&hello(1, 2).header()).unwrap();
        let tcp = lead(&listener, 2, QUICK).unwrap();
        let failure = tcp.detector.failure_within(Duration::from_secs(4)).unwrap();
        assert_eq!(failure, Failure::Silent(Rank(1), 0.8));
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
        let other = thread::spawn(move || refusal(follow(&address, 2, 4, slow)));
        let error = refusal(lead(&listener, 4, slow));
        assert!(error.starts_with("rank 1 has not answered"), "{error}");
        assert_eq!(other.join().unwrap(), error);
        assert!(begun.elapsed() < slow.arrival);
    }

    #[test]
    fn those_who_do_not_come_or_come_twice_are_named() {
        let (listener, address) = hub();
        let short = Limits { arrival: Duration::from_millis(300), ..QUICK };
        let error = refusal(lead(&listener, 3, short));
        assert!(error.starts_with("rank 1 is gone: it has not come within"), "{error}");
        let others = [(); 2].map(|()| {
            let address = address.clone();
            thread::spawn(move || refusal(follow(&address, 1, 3, QUICK)))
        });
        let said = [refusal(lead(&listener, 3, QUICK))].into_iter();
        for error in said.chain(others.map(|other| other.join().unwrap())) {
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
        assert_eq!(refusal(Tcp::lead(&listener, 2, slow, &mut told)), "enough");
        // A rank that waits for rank 0, whether it is there or not.
        assert_eq!(refusal(Tcp::follow(&address, Rank(1), 2, slow, &mut told)), "enough");
        drop(listener);
        assert_eq!(refusal(Tcp::follow(&address, Rank(1), 2, slow, &mut told)), "enough");
        assert!(begun.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn strangers_do_not_keep_ranks_from_coming() {
        let (listener, address) = hub();
        // Thirty are silent; one is slow, a byte at a time, behind the header of a long frame; one speaks HTTP.
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
            follow(&address, 1, 2, QUICK).map(|tcp| tcp.rank())
        });
        let lead = lead(&listener, 2, QUICK).unwrap();
        assert_eq!(other.join().unwrap().unwrap(), Rank(1));
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        drop((lead, silent));
    }

    #[test]
    fn a_message_of_any_length_ends_in_a_sentence() {
        for count in [1 << 33, 1 << 40, 1 << 62, u64::MAX] {
            let (listener, address) = hub();
            let mut line = TcpStream::connect(address).unwrap();
            let said = [hello(1, 2).header(), Frame::Numbers(count).header()].concat();
            line.write_all(&said).unwrap();
            let mut tcp = lead(&listener, 2, QUICK).unwrap();
            let error = tcp.receive(Rank(1), &mut [0.0]).unwrap_err().to_string();
            assert!(error.starts_with("rank 1 is gone: it says what no rank says"), "{error}");
        }
    }
}
