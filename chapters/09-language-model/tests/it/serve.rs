//! The server, spoken to over raw sockets by good clients and bad ones.

use crate::talker::{self, talker};
use language_model::{
    generate::{Decoder, Sampling},
    serve::{Options, Server},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

fn start(options: Options) -> Server {
    let (model, tokenizer) = talker();
    let decoder = Decoder::new(&model.config, &model.parameters).unwrap();
    Server::start(decoder, tokenizer, Options { port: 0, ..options }).unwrap()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Everything until the server hangs up.
fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn send(server: &Server, bytes: &[u8]) -> String {
    let mut stream = connect(server);
    // The server may respond and hang up before it has read everything.
    let _ = stream.write_all(bytes);
    rest(stream)
}

fn request(line: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("{line} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn post(body: &Value) -> Vec<u8> {
    request("POST /generate", "", &body.to_string())
}

/// The status and the body.
fn parts(answer: &str) -> (u16, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    (status.unwrap_or(0), body)
}

fn status(answer: &str) -> u16 {
    parts(answer).0
}

fn json_of(answer: &str) -> Value {
    serde_json::from_str(parts(answer).1).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn health(server: &Server) -> Value {
    json_of(&send(server, &request("GET /health", "", "")))
}

/// Waits until something holds, for ten seconds at most.
fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// An answer that takes for ever, for a test's purposes: the likeliest token never ends the text.
fn endless() -> Vec<u8> {
    post(&json!({"prompt": "a", "tokens": 100_000_000, "temperature": 0}))
}

fn patient() -> Options {
    Options { tokens: 100_000_000, time: Duration::from_mins(1), ..Options::default() }
}

#[test]
fn an_answer_is_what_the_library_generates() {
    let server = start(Options::default());
    let (model, tokenizer) = talker();
    let decoder = Decoder::new(&model.config, &model.parameters).unwrap();
    let how = Sampling { temperature: 1.1, top_k: 50, top_p: 0.99, seed: 7 };
    let wanted = talker::text(&decoder, &tokenizer, "größe 🦀", 60, how);
    let mut body = json!({"prompt": "größe 🦀", "tokens": 60, "temperature": 1.1, "top_k": 50, "top_p": 0.99, "seed": 7});
    let answer = send(&server, &post(&body));
    assert_eq!(status(&answer), 200, "{answer}");
    let whole = json_of(&answer);
    assert_eq!((&whole["text"], &whole["seed"]), (&json!(wanted), &json!(7)));
    assert!(whole["stop"] == "length" && whole["tokens"] == 60 || whole["stop"] == "end");

    // The same in pieces, in chunks for HTTP/1.1 and without for HTTP/1.0.
    body["stream"] = true.into();
    let new = post(&body);
    let old = String::from_utf8(new.clone()).unwrap().replace("HTTP/1.1", "HTTP/1.0");
    for (request, chunked) in [(new, true), (old.into_bytes(), false)] {
        let answer = send(&server, &request);
        assert!(answer.contains("Content-Type: text/event-stream\r\n"), "{answer}");
        assert_eq!(answer.contains("Transfer-Encoding: chunked\r\n"), chunked);
        assert_eq!(answer.ends_with("\r\n0\r\n\r\n"), chunked);
        let data = |line: &str| serde_json::from_str(line.strip_prefix("data: ")?).ok();
        let mut events: Vec<Value> = answer.lines().filter_map(data).collect();
        let end = events.pop().unwrap();
        let text: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
        assert_eq!(text, wanted);
        assert_eq!((&end["stop"], &end["tokens"]), (&whole["stop"], &whole["tokens"]));
        assert!(answer.contains("event: end\n") && end.get("text").is_none());
    }
}

#[test]
fn clients_at_once_get_the_answers_that_each_would_get_alone() {
    let server = start(Options { batch: 3, ..Options::default() });
    let body = |seed: u64| {
        post(
            &json!({"prompt": "fn ".repeat(seed as usize), "tokens": 40, "seed": seed, "temperature": 1}),
        )
    };
    let alone: Vec<Value> = (0..8).map(|seed| json_of(&send(&server, &body(seed)))).collect();
    let all = thread::scope(|scope| {
        let (server, body) = (&server, &body);
        let clients: Vec<_> =
            (0..8).map(|seed| scope.spawn(move || json_of(&send(server, &body(seed))))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(all, alone);
    // An answer is counted after its last byte: the client may be faster.
    let late = Instant::now() + Duration::from_secs(10);
    while server.counts().answered.load(Relaxed) < 16 && Instant::now() < late {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(server.counts().answered.load(Relaxed), 16);
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let server = start(Options::default());
    let page = send(&server, &request("GET /?a=b", "", ""));
    assert_eq!(status(&page), 200);
    let body = parts(&page).1;
    assert!(body.starts_with("<!doctype html>") && body.contains("</html>"));
    assert!(["http:", "https:", "src=", "@import", "url("].iter().all(|word| !body.contains(word)));
    assert!(page.contains("Content-Security-Policy: default-src 'none'"));
    let health = health(&server);
    assert_eq!((&health["status"], &health["model"]["context"]), (&json!("ok"), &json!(40)));
}

#[test]
fn bad_requests_get_a_status_and_a_sentence() {
    let server = start(Options::default());
    let generate = |body: &str| request("POST /generate", "", body);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let good = r#"{"prompt": "a", "tokens": 1}"#;
    for (bytes, wanted) in [
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n".to_vec(), 400),
        (b"hello\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), 400),
        (request("GET /nothing", "", ""), 404),
        (request("GET /../../etc/passwd", "", ""), 404),
        (request("DELETE /generate", "", ""), 405),
        (request("GET /generate", "", ""), 405),
        (request("OPTIONS /generate", "Origin: http://localhost\r\n", ""), 405),
        (request("POST /generate", "Origin: http://evil.example\r\n", good), 403),
        (request("POST /generate", "Origin: null\r\n", good), 403),
        (request("POST /generate", "Origin: http://localhost\r\n", good), 200),
        (text(generate(good)).replace("localhost", "evil.example").into_bytes(), 421),
        (text(generate(good)).replace("localhost", "[::1]:80").into_bytes(), 200),
        (text(generate(good)).replace("Host: localhost\r\n", "").into_bytes(), 200),
        (generate(""), 400),
        (generate("{"), 400),
        (generate(r#"{"prompt": "a", "tokens": 1000000}"#), 400),
        (generate(&"[".repeat(60_000)), 400),
        (request("POST /generate", "Content-Length: 5\r\n", good), 400),
        (request("POST /generate", "Transfer-Encoding: chunked\r\n", good), 411),
        (b"POST /generate HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n".to_vec(), 413),
        (generate(&json!({"prompt": "x".repeat(10_000_000)}).to_string()), 413),
        ([b"GET / HTTP/1.1\r\na: ".to_vec(), vec![b'b'; 20_000]].concat(), 431),
    ] {
        let answer = send(&server, &bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
        assert_eq!(status(&answer), wanted, "{shown}: {answer}");
        if wanted >= 400 {
            let why = json_of(&answer)["error"].as_str().unwrap().to_owned();
            assert!(why.len() > 10, "{shown}: {why}");
        }
    }
    // Half a request and the end of the connection: nothing to answer, and nothing left behind.
    for half in [&b""[..], b"POST /gen", b"POST /generate HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"] {
        connect(&server).write_all(half).unwrap();
    }
    soon("all connections are closed", || server.open() == 0);
    assert_eq!(health(&server)["status"], "ok");
}

#[test]
fn a_client_that_waits_for_a_word_before_its_body_gets_it() {
    let server = start(Options::default());
    let body = r#"{"prompt": "a", "tokens": 2}"#;
    let all =
        String::from_utf8(request("POST /generate", "Expect: 100-continue\r\n", body)).unwrap();
    let (head, _) = all.split_once("\r\n\r\n").unwrap();
    let mut stream = connect(&server);
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    let mut word = [0; 25];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    assert_eq!(status(&rest(stream)), 200);
}

#[test]
fn a_slow_client_is_told_so_and_keeps_no_one_waiting() {
    let mut options = Options { connections: 2, ..Options::default() };
    options.http.request = Duration::from_millis(300);
    let server = start(options);
    let idle = [connect(&server), connect(&server)];
    soon("both are connected", || server.open() == 2);
    // All places are taken by clients that say nothing.
    let refused = send(&server, &request("GET /health", "", ""));
    assert_eq!(status(&refused), 503, "{refused}");
    assert!(refused.contains("Retry-After: 1\r\n") && refused.contains("too many connections"));
    for stream in idle {
        assert_eq!(status(&rest(stream)), 408);
    }
    // A byte now and then is no way out.
    let mut drip = connect(&server);
    let began = Instant::now();
    while drip.write_all(b"G").is_ok() && began.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    soon("the connection is closed", || server.open() == 0);
    assert_eq!(health(&server)["status"], "ok");
}

#[test]
fn a_full_queue_says_busy_and_a_client_that_goes_frees_its_place() {
    let server = start(Options { batch: 1, queue: 1, ..patient() });
    let ask = || {
        let mut stream = connect(&server);
        stream.write_all(&endless()).unwrap();
        stream
    };
    let first = ask();
    soon("the first one runs", || server.counts().running.load(Relaxed) == 1);
    let second = ask();
    soon("the second one waits", || server.counts().waiting.load(Relaxed) == 1);
    let third = rest(ask());
    assert_eq!(status(&third), 503, "{third}");
    assert!(json_of(&third)["error"].as_str().unwrap().contains("busy"));
    let state = health(&server);
    assert_eq!(
        (&state["running"], &state["waiting"], &state["refused"]),
        (&json!(1), &json!(1), &json!(1))
    );
    // The first one goes: the second one's turn. It goes as well: nothing runs.
    drop(first);
    soon("the second one runs", || server.counts().waiting.load(Relaxed) == 0);
    drop(second);
    soon("nothing runs", || server.counts().running.load(Relaxed) == 0);
    let answer = send(&server, &post(&json!({"prompt": "a", "tokens": 3, "temperature": 0})));
    assert_eq!(json_of(&answer)["tokens"], 3);
}

#[test]
fn an_answer_ends_when_its_time_is_over() {
    let server = start(Options { time: Duration::from_millis(200), ..patient() });
    let began = Instant::now();
    let answer = json_of(&send(&server, &endless()));
    assert_eq!(answer["stop"], "time");
    assert!(answer["tokens"].as_u64().unwrap() > 0 && answer["forgotten"] == true);
    assert!((0.15..5.0).contains(&began.elapsed().as_secs_f64()));
}

#[test]
fn the_end_lets_answers_end() {
    let options = Options { batch: 1, grace: Duration::from_millis(300), ..patient() };
    let server = start(options);
    let ask = || {
        let mut stream = connect(&server);
        stream.write_all(&endless()).unwrap();
        thread::spawn(move || rest(stream))
    };
    let running = ask();
    soon("it runs", || server.counts().running.load(Relaxed) == 1);
    let waiting = ask();
    soon("the other one waits", || server.counts().waiting.load(Relaxed) == 1);
    let (address, began) = (server.address(), Instant::now());
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(30));
    let (running, waiting) = (running.join().unwrap(), waiting.join().unwrap());
    assert_eq!(json_of(&running)["stop"], "shutdown");
    assert_eq!(status(&waiting), 503, "{waiting}");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_taken_port_is_an_error_with_a_way_out() {
    let server = start(Options::default());
    let (model, tokenizer) = talker();
    let decoder = Decoder::new(&model.config, &model.parameters).unwrap();
    let options = Options { port: server.address().port(), ..Options::default() };
    let error = Server::start(decoder, tokenizer, options).err().unwrap().to_string();
    assert!(error.contains("--port"), "{error}");
}
