//! The server, spoken to over raw sockets by good clients and bad ones.

use lab::{
    serve::{Options, Refused, Reply, Request, Response, Server, TEXT},
    testing::{ask, rest, soon},
};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// More than the system keeps for a client that does not read.
const HUGE: u64 = 64 << 20;

/// What a handler shares with its test.
#[derive(Default)]
struct Late {
    /// Whether `/late` may answer.
    free: AtomicBool,
    /// Its clients that wait or have waited, and those of them that have gone.
    asked: AtomicUsize,
    gone: AtomicUsize,
}

struct Site {
    server: Server,
    late: Arc<Late>,
}

impl Site {
    fn new(options: Options) -> Self {
        let late = Arc::<Late>::default();
        let seen = Arc::clone(&late);
        let handler = move |request: &Request, reply: &Reply| answer(request, reply, &seen);
        Self { server: Server::start(options, handler).unwrap(), late }
    }

    fn usual() -> Self {
        Self::new(Options { body: 1000, grace: Duration::from_secs(5), ..Options::default() })
    }

    fn asks(&self, request: impl AsRef<[u8]>) -> TcpStream {
        ask(self.server.address(), request)
    }

    fn send(&self, request: impl AsRef<[u8]>) -> String {
        rest(self.asks(request))
    }

    fn is_alive(&self) -> bool {
        self.send(get("/")).ends_with("\r\n\r\nhello")
    }
}

fn answer(request: &Request, reply: &Reply, late: &Late) -> Result<(), Refused> {
    let plain = Response { status: "200 OK", kind: TEXT, more: "" };
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => reply.text(plain, "hello"),
        ("POST", "/echo") => reply.text(plain, &String::from_utf8_lossy(&request.body)),
        ("GET", "/huge") => reply.send(plain, HUGE, &mut std::io::repeat(b'x')),
        ("GET", "/parts") => {
            reply.begin(plain).unwrap();
            for part in ["one", "", "two"] {
                reply.part(part.as_bytes()).unwrap();
            }
        }
        ("GET", "/late") => {
            late.asked.fetch_add(1, Relaxed);
            while !late.free.load(Relaxed) {
                if reply.is_gone() {
                    late.gone.fetch_add(1, Relaxed);
                    return Ok(());
                }
                thread::sleep(Duration::from_millis(5));
            }
            reply.text(plain, "late");
        }
        ("GET", "/fails") => panic!("as the test wants"),
        ("GET", _) => return Err(Refused::new("404 Not Found", "there is nothing")),
        _ => return Err(Refused::method("GET, HEAD", "this is only read")),
    }
    Ok(())
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

#[test]
fn an_answer_has_its_type_and_its_length_or_comes_in_parts() {
    let site = Site::usual();
    let hello = site.send(get("/?a=b"));
    assert!(
        hello.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"),
        "{hello}"
    );
    assert!(hello.contains("Content-Length: 5\r\n") && hello.ends_with("\r\n\r\nhello"), "{hello}");
    assert!(hello.contains("Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n"));
    let parts = site.send(get("/parts").replace("HTTP/1.1", "HTTP/1.0"));
    assert!(!parts.contains("Content-Length") && parts.ends_with("\r\n\r\nonetwo"), "{parts}");
    assert_eq!(site.send(get("/huge")).len() as u64 / HUGE, 1);
}

#[test]
fn a_refusal_is_text_or_json_with_a_status_and_a_sentence() {
    let (text, json) = (Site::usual(), Site::new(Options { json: true, ..Options::default() }));
    let refused = text.send(get("/gone"));
    assert!(refused.starts_with("HTTP/1.1 404 Not Found\r\n"), "{refused}");
    assert!(refused.ends_with("\r\n\r\n404 Not Found\nthere is nothing\n"), "{refused}");
    assert!(json.send(get("/gone")).ends_with("\r\n\r\n{\"error\":\"there is nothing\"}"));
    for (request, status) in [
        ("\r\n\r\n".to_owned(), "400"),
        ("DELETE / HTTP/1.1\r\n\r\n".to_owned(), "405"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "421"),
        ("GET / HTTP/1.1\r\nOrigin: http://evil.example\r\n\r\n".to_owned(), "403"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000)), "431"),
        (format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(20_000)), "431"),
        ("POST /echo HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n".to_owned(), "413"),
        (format!("POST /echo HTTP/1.1\r\nContent-Length: 9000\r\n\r\n{:9000}", "a"), "413"),
    ] {
        let refused = text.send(&request);
        assert!(refused.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {refused}");
        let allows = refused.contains("\r\nAllow: GET, HEAD\r\n");
        assert_eq!(allows, status == "405", "{refused}");
    }
    // Half a request and the end of the connection: nothing to answer, and nothing left behind.
    for half in ["", "GET / HT", "POST /echo HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"] {
        let stream = text.asks(half);
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(stream), "");
    }
    soon("all connections are closed", || text.server.open() == 0);
    assert!(text.is_alive());
}

#[test]
fn an_answer_to_head_has_no_body() {
    let site = Site::usual();
    let long = format!("HEAD /{} HTTP/1.1", "a".repeat(100_000));
    for (request, status) in [
        ("HEAD / HTTP/1.1", "200"),
        ("HEAD /parts HTTP/1.1", "200"),
        ("HEAD /gone HTTP/1.1", "404"),
        ("HEAD / HTTP/9.9", "400"),
        (&long, "431"),
    ] {
        let answer = site.send(format!("{request}\r\n\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert_eq!(answer.find("\r\n\r\n"), Some(answer.len() - 4), "{answer}");
    }
}

#[test]
fn a_client_that_waits_for_a_word_before_its_body_gets_it() {
    let site = Site::usual();
    let head = "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    let mut stream = site.asks(head);
    let mut word = [0; 25];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").unwrap();
    let answer = rest(stream);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nbody"), "{answer}");
}

#[test]
fn a_client_that_has_ended_sending_gets_its_answer() {
    let site = Site::usual();
    let half_closed = |path| {
        let stream = site.asks(get(path));
        stream.shutdown(Shutdown::Write).unwrap();
        stream
    };
    assert!(rest(half_closed("/")).ends_with("\r\n\r\nhello"));
    assert!(rest(half_closed("/parts")).ends_with("\r\n\r\nonetwo"));
    let late = half_closed("/late");
    soon("it waits", || site.late.asked.load(Relaxed) == 1);
    // By now the server has tried whether it is still there, more than once.
    thread::sleep(Duration::from_millis(500));
    assert_eq!(site.late.gone.load(Relaxed), 0);
    site.late.free.store(true, Relaxed);
    let answer = rest(late);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nlate"));
}

#[test]
fn a_client_that_goes_is_missed() {
    let site = Site::usual();
    let (whole, half) = (site.asks(get("/late")), site.asks(get("/late")));
    soon("both wait", || site.late.asked.load(Relaxed) == 2);
    drop(whole);
    soon("one has gone", || site.late.gone.load(Relaxed) == 1);
    half.shutdown(Shutdown::Write).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(site.late.gone.load(Relaxed), 1);
    drop(half);
    soon("both have gone", || site.late.gone.load(Relaxed) == 2);
    soon("the places are free", || site.server.open() == 0);
}

#[test]
fn a_slow_client_is_told_so_and_one_that_does_not_read_is_given_up() {
    let (request, unread) = (Duration::from_millis(300), Duration::from_millis(50));
    let site = Site::new(Options { request, unread, ..Options::default() });
    let stream = site.asks(get("/huge"));
    soon("it begins", || site.server.open() == 1);
    soon("it is given up", || site.server.open() == 0);
    assert!((rest(stream).len() as u64) < HUGE);
    let late = site.send("");
    assert!(late.starts_with("HTTP/1.1 408") && late.contains("after 0.3 s"), "{late}");
    // A byte now and then is no way out.
    let mut drip = site.asks("");
    let began = Instant::now();
    while drip.write_all(b"G").is_ok() && began.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn clients_that_send_nothing_or_read_nothing_shut_out_no_other() {
    let long = Duration::from_mins(10);
    let site =
        Site::new(Options { connections: 4, request: long, unread: long, ..Options::default() });
    for request in ["", "GET / HT", &get("/huge")] {
        let slow: Vec<TcpStream> = (0..12).map(|_| site.asks(request)).collect();
        for _ in 0..8 {
            assert!(site.is_alive(), "{request}");
        }
        drop(slow);
    }
}

#[test]
fn a_server_whose_places_all_have_work_says_so_to_everybody() {
    let site = Site::new(Options { connections: 4, ..Options::default() });
    let working: Vec<TcpStream> = (0..4).map(|_| site.asks(get("/late"))).collect();
    soon("all work", || site.late.asked.load(Relaxed) == 4);
    thread::scope(|scope| {
        let asked: Vec<_> = (0..120).map(|_| scope.spawn(|| site.send(get("/")))).collect();
        for answer in asked {
            let answer = answer.join().unwrap();
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
            assert!(answer.contains("Retry-After: 1\r\n"), "{answer}");
            assert!(answer.ends_with("the server is busy (too many connections); try again\n"));
        }
    });
    site.late.free.store(true, Relaxed);
    assert!(working.into_iter().all(|stream| rest(stream).ends_with("late")));
    assert!(site.is_alive());
}

#[test]
fn a_handler_that_panics_keeps_no_place() {
    let site = Site::new(Options { connections: 1, ..Options::default() });
    for _ in 0..3 {
        assert_eq!(site.send(get("/fails")), "");
    }
    soon("its place is free", || site.server.open() == 0);
    assert!(site.is_alive());
}

#[test]
fn the_end_lets_answers_end_and_waits_for_no_request() {
    let site = Site::usual();
    let (late, mut silent) = (site.asks(get("/late")), site.asks(""));
    soon("both are there", || site.late.asked.load(Relaxed) == 1 && site.server.open() == 2);
    let (address, shared, began) = (site.server.address(), Arc::clone(&site.late), Instant::now());
    thread::scope(|scope| {
        scope.spawn(|| drop(site));
        assert_eq!(silent.read(&mut [0]).unwrap(), 0, "it hangs up");
        shared.free.store(true, Relaxed);
    });
    assert!(began.elapsed() < Duration::from_secs(4), "it waited for a request");
    assert!(rest(late).ends_with("\r\n\r\nlate"));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_taken_port_leads_to_the_next_or_is_an_error_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let start = |options: Options| Server::start(options, |_, _| Ok(()));
    if port < u16::MAX - 20 {
        let next = start(Options { port, ports: 20, ..Options::default() }).unwrap();
        assert_ne!(next.address().port(), port);
        assert!(next.address().ip().is_loopback());
    }
    let error = start(Options { port, ..Options::default() }).err().unwrap().to_string();
    assert!(error.starts_with("can't listen on 127.0.0.1:"), "{error}");
    assert!(error.ends_with("choose another port with --port"), "{error}");
    let address = "192.0.2.1".parse().unwrap(); // of no machine (RFC 5737)
    let error = start(Options { address, ..Options::default() }).err().unwrap().to_string();
    assert!(error.ends_with("choose another address with --address"), "{error}");
}
