use multi_gpu::replicas::frame::{Failure, Frame, Hello, PROTOCOL};
use multi_gpu::replicas::tcp::{Tcp, run, run_within};
use multi_gpu::{
    Communicator, Error, PointToPoint, Rank, Result, point_to_point::LOOK,
    replicas::detector::Limits,
};
use std::net::{TcpListener, TcpStream};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use std::{io::Write, iter, thread};

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
                comm.detector().failed(&Error::Config("its disk is full".into()));
            }
            Ok(comm.detector().failure_within(Duration::from_secs(3)))
        });
        let wanted = format!("rank {failing} has failed: its disk is full");
        let wanted = Some(Failure::Refused(wanted));
        assert!(heard.unwrap().iter().all(|heard| *heard == wanted));
    }
}

#[test]
fn a_rank_that_is_done_may_leave() {
    let heard = run_within(QUICK, 4, |comm| {
        let patience = if comm.rank() == Rank(3) { 0 } else { 200 };
        Ok(comm.detector().failure_within(Duration::from_millis(patience)))
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
    let failure = tcp.detector().failure_within(Duration::from_secs(4)).unwrap();
    assert_eq!(failure, Failure::Silent(Rank(1), 0.8));
    let words = Error::from(failure).to_string();
    assert!(words.starts_with("rank 1 has not answered for 1 s"), "{words}");
}

#[test]
fn who_is_lost_before_all_have_come_is_named_by_all() {
    // Rank 1 comes and stops.
    let slow = Limits { arrival: Duration::from_secs(20), ..QUICK };
    let (listener, address) = hub();
    let begun = Instant::now();
    let mut line = TcpStream::connect(&address).unwrap();
    line.write_all(&hello(1, 4).header()).unwrap();
    // Rank 3 has connected, and says who it is when rank 1 is given up already.
    let mut late = TcpStream::connect(&address).unwrap();
    let late = thread::spawn(move || {
        thread::sleep(QUICK.silence + Duration::from_millis(500));
        late.write_all(&hello(3, 4).header()).unwrap();
        iter::from_fn(|| Frame::read(&mut late).ok()).map(|(frame, _)| frame).last()
    });
    let other = thread::spawn(move || refusal(follow(&address, 2, 4, slow)));
    let error = refusal(lead(&listener, 4, slow));
    assert!(error.starts_with("rank 1 has not answered"), "{error}");
    assert_eq!(other.join().unwrap(), error);
    let late = late.join().unwrap();
    let Some(Frame::Over(why)) = late else { panic!("{late:?}") };
    assert_eq!(Error::from(why).to_string(), error);
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
    // One of another version, and an address that can't be one.
    let (mut line, protocol) = (TcpStream::connect(&address).unwrap(), "throughput 2".to_owned());
    let Frame::Hello(own) = hello(1, 2) else { unreachable!() };
    line.write_all(&Frame::Hello(Hello { protocol, ..own }).header()).unwrap();
    let error = refusal(lead(&listener, 2, QUICK));
    assert!(error.contains("rank 1 speaks") && error.contains("one build"), "{error}");
    let slow = Limits { arrival: Duration::from_mins(5), ..QUICK };
    let error = refusal(follow("rank-0", 1, 2, slow));
    assert!(error.starts_with("rank-0 can't be reached (invalid socket address"), "{error}");
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
