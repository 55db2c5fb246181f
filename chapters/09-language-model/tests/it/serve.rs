//! The server, spoken to over raw sockets by good clients and bad ones.

mod api;

use crate::talker;
use lab::testing::{ask, rest, soon};
use language_model::{
    generate::Sampling,
    serve::{Options, Server},
};
use serde_json::{Value, json};
use std::{
    net::TcpStream,
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

fn start(mut options: Options) -> Server {
    let (decoder, tokenizer, _) = talker::decoder();
    options.http.port = 0;
    Server::start(decoder, tokenizer, options).unwrap()
}

fn send(server: &Server, bytes: &[u8]) -> String {
    rest(ask(server.address(), bytes))
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
    let (decoder, tokenizer, _) = talker::decoder();
    let how = Sampling { temperature: 1.1, top_k: 50, top_p: 0.99, seed: 7 };
    let wanted = talker::text(&decoder, &tokenizer, "größe 🦀", 60, how);
    let mut body = json!({"prompt": "größe 🦀", "tokens": 60, "temperature": 1.1, "top_k": 50, "top_p": 0.99, "seed": 7});
    let answer = send(&server, &post(&body));
    assert_eq!(status(&answer), 200, "{answer}");
    let whole = json_of(&answer);
    assert_eq!((&whole["text"], &whole["seed"]), (&json!(wanted), &json!(7)));
    assert!(whole["stop"] == "length" && whole["tokens"] == 60 || whole["stop"] == "end");

    // The same in pieces.
    body["stream"] = true.into();
    let new = post(&body);
    let old = String::from_utf8(new.clone()).unwrap().replace("HTTP/1.1", "HTTP/1.0");
    for request in [new, old.into_bytes()] {
        let answer = send(&server, &request);
        assert!(answer.contains("Content-Type: text/event-stream\r\n"), "{answer}");
        assert!(answer.contains("X-Accel-Buffering: no\r\n"), "a proxy hands each token on");
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
    soon("all are answered", || server.counts().answered.load(Relaxed) == 16);
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let server = start(Options::default());
    let page = send(&server, &request("GET /?a=b", "", ""));
    assert_eq!(status(&page), 200);
    let body = parts(&page).1;
    assert!(body.starts_with("<!doctype html>") && body.contains("</html>"));
    assert!(
        ["http:", "https:", "src=", "@import", "url(", "('/", "(\"/"]
            .iter()
            .all(|word| !body.contains(word))
    );
    assert!(page.contains("Content-Security-Policy: default-src 'none'"));
    let health = health(&server);
    assert_eq!((&health["status"], &health["model"]["context"]), (&json!("ok"), &json!(40)));
}

#[test]
fn bad_requests_get_a_status_and_a_sentence() {
    let server = start(Options::default());
    let generate = |body: &str| request("POST /generate", "", body);
    let good = r#"{"prompt": "a", "tokens": 1}"#;
    for (bytes, wanted) in [
        (b"hello\r\n\r\n".to_vec(), 400),
        (request("GET /nothing", "", ""), 404),
        (request("DELETE /generate", "", ""), 405),
        (request("GET /generate", "", ""), 405),
        (request("OPTIONS /generate", "Origin: http://localhost\r\n", ""), 405),
        (request("POST /generate", "Origin: http://evil.example\r\n", good), 403),
        (request("POST /generate", "Origin: http://localhost\r\n", good), 200),
        (generate(""), 400),
        (generate("{"), 400),
        (generate(r#"{"prompt": "a", "tokens": 1000000}"#), 400),
        (generate(&"[".repeat(60_000)), 400),
        (generate(&json!({"prompt": "x".repeat(10_000_000)}).to_string()), 413),
    ] {
        let answer = send(&server, &bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
        assert_eq!(status(&answer), wanted, "{shown}: {answer}");
        if wanted >= 400 {
            let why = json_of(&answer)["error"].as_str().unwrap().to_owned();
            assert!(why.len() > 10, "{shown}: {why}");
        }
    }
    assert!(parts(&send(&server, b"HEAD / HTTP/1.1\r\n\r\n")) == (200, ""));
    soon("all connections are closed", || server.open() == 0);
    assert_eq!(health(&server)["status"], "ok");
}

#[test]
fn a_free_place_needs_no_queue() {
    let server = start(Options { batch: 2, queue: 0, ..patient() });
    let ask = || ask(server.address(), endless());
    for _ in 0..3 {
        let (first, second) = (ask(), ask());
        soon("both run", || server.counts().running.load(Relaxed) == 2);
        assert_eq!(status(&rest(ask())), 503);
        drop((first, second));
        soon("nothing runs", || server.counts().running.load(Relaxed) == 0);
    }
}

#[test]
fn a_full_queue_says_busy_and_a_client_that_goes_frees_its_place() {
    let server = start(Options { batch: 1, queue: 1, ..patient() });
    let ask = || ask(server.address(), endless());
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
    let mut options = Options { batch: 1, ..patient() };
    options.http.grace = Duration::from_millis(300);
    let server = start(options);
    let ask = || {
        let stream = ask(server.address(), endless());
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
