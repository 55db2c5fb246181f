//! The server, spoken to over raw sockets.

use bookbinder::serve::Server;
use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::PathBuf,
    time::{Duration, Instant},
};

struct Site {
    folder: tempfile::TempDir,
    server: Server,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("book");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        fs::write(root.join("index.html"), "<html><body>home</body></html>").unwrap();
        fs::write(root.join("404.html"), "<html><body>lost</body></html>").unwrap();
        fs::write(root.join("sub/index.html"), "<p>sub").unwrap();
        fs::write(root.join("sub/a b.css"), "p {}").unwrap();
        fs::write(root.join(".hidden"), "secret").unwrap();
        fs::write(root.join("big.woff2"), vec![7; 1 << 20]).unwrap();
        // More than the system keeps for a client that does not read.
        fs::write(root.join("huge.html"), [b"<p>".repeat(8 << 20), b"</body>".to_vec()].concat())
            .unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join("secret.txt"), root.join("link.txt"))
                .unwrap();
            std::os::unix::fs::symlink(folder.path(), root.join("up")).unwrap();
        }
        let server = Server::start(&root, 0).unwrap();
        Self { folder, server }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("book")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes and reads until the server hangs up.
    fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may respond and hang up before it has read everything.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
        String::from_utf8_lossy(&self.send(request.as_bytes())).into_owned()
    }

    fn is_alive(&self) -> bool {
        self.get("/").contains("home")
    }
}

#[test]
fn files_come_with_their_type_and_length() {
    let site = Site::new();
    let home = site.get("/");
    assert!(home.starts_with("HTTP/1.1 200 OK\r\n") && home.contains("home"), "{home}");
    assert!(home.contains("Content-Type: text/html; charset=utf-8\r\n"));
    assert!(
        home.contains("/__version") && home.trim_end().ends_with("</script></body></html>"),
        "{home}"
    );
    let style = site.get("/sub/a%20b.css?v=1");
    assert!(
        style.contains("Content-Type: text/css; charset=utf-8\r\nContent-Length: 4\r\n"),
        "{style}"
    );
    assert!(style.ends_with("\r\n\r\np {}"), "a style sheet gets no script: {style}");
    let big = site.send(b"GET /big.woff2 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert!(big.len() > 1 << 20 && big.ends_with(&[7; 100]));
    let head = String::from_utf8(site.send(b"HEAD /big.woff2 HTTP/1.1\r\n\r\n")).unwrap();
    assert!(head.contains("Content-Length: 1048576\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn a_folder_is_its_index_and_needs_its_slash() {
    let site = Site::new();
    assert!(site.get("/sub/").contains("<p>sub"));
    let moved = site.get("/sub");
    assert!(moved.starts_with("HTTP/1.1 301") && moved.contains("Location: /sub/\r\n"), "{moved}");
    let elsewhere = site.get("//sub");
    assert!(elsewhere.contains("Location: /sub/\r\n"), "not to another host: {elsewhere}");
}

#[test]
fn nothing_outside_the_folder_is_served() {
    let site = Site::new();
    for path in [
        "/../secret.txt",
        "/sub/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..\\secret.txt",
        "/%5c..%5csecret.txt",
        "/link.txt",
        "/up/secret.txt",
        "/up/",
        "/.hidden",
        "/index.html%00.css",
        "//etc/passwd",
        "/C:/secret.txt",
        "/%c0%ae%c0%ae/secret.txt",
        "/%",
        "/%zz",
        "/gone.html",
    ] {
        let answer = site.get(path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
        assert!(answer.contains("lost") && !answer.contains("secret"), "{path}: {answer}");
    }
    let absolute = format!("{}", site.folder.path().join("secret.txt").display());
    assert!(!site.get(&absolute).ends_with("secret"));
    assert!(site.is_alive());
}

#[test]
fn malformed_requests_are_refused() {
    let site = Site::new();
    for (request, status) in [
        (&b"\r\n\r\n"[..], "400"),
        (b"GET\r\n\r\n", "400"),
        (b"GET / HTTP/1.1 more\r\n\r\n", "400"),
        (b"GET http://example.org/ HTTP/1.1\r\n\r\n", "400"),
        (b"GET /a\nb HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTTP/9.9\r\n\r\n", "400"),
        (b"\xff\xfe / HTTP/1.1\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405"),
        (b"DELETE / HTTP/1.1\r\n\r\n", "405"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
    ] {
        let answer = String::from_utf8_lossy(&site.send(request)).into_owned();
        let expected = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&expected), "{request:?}: {answer}");
    }
    assert!(site.send(b"").is_empty() && site.send(b"GET / HT").is_empty());
    assert!(site.is_alive());
}

#[test]
fn oversized_requests_are_refused() {
    let site = Site::new();
    let line = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    assert!(site.send(line.as_bytes()).starts_with(b"HTTP/1.1 431"));
    let endless = [b"GET / HTTP/1.1\r\n".as_slice(), "A: b\r\n".repeat(20_000).as_bytes()].concat();
    assert!(site.send(&endless).starts_with(b"HTTP/1.1 431"));
    assert!(site.is_alive());
}

#[test]
fn slow_and_silent_clients_do_not_keep_others_waiting() {
    let site = Site::new();
    let start = Instant::now();
    let mut slow = site.connect();
    slow.write_all(b"GET / HT").unwrap();
    // More silent clients than the server has slots for: some are turned away, none stops it.
    let silent: Vec<TcpStream> = (0..100).map(|_| site.connect()).collect();
    std::thread::sleep(Duration::from_millis(300));
    let answer = site.get("/");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let mut text = String::new();
    slow.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(15));
    drop(silent);
    let until = Instant::now() + Duration::from_secs(10);
    while !site.is_alive() {
        assert!(Instant::now() < until, "the slots are released");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_busy_server_says_so_to_everybody() {
    let site = Site::new();
    let silent: Vec<TcpStream> = (0..64).map(|_| site.connect()).collect();
    std::thread::sleep(Duration::from_millis(300));
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..120).map(|_| scope.spawn(|| site.get("/"))).collect();
        for answer in asked {
            let answer = answer.join().unwrap();
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
            assert!(
                answer.contains("Retry-After: 1") && answer.ends_with("503 Service Unavailable\n")
            );
        }
    });
    drop(silent);
}

#[test]
fn an_answer_to_head_has_no_body() {
    let site = Site::new();
    for (request, status) in [
        ("HEAD / HTTP/1.1\r\n\r\n".to_owned(), "200"),
        ("HEAD /gone.html HTTP/1.1\r\n\r\n".to_owned(), "404"),
        ("HEAD /sub HTTP/1.1\r\n\r\n".to_owned(), "301"),
        ("HEAD / HTTP/9.9\r\n\r\n".to_owned(), "400"),
        ("HEAD / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "421"),
        (format!("HEAD /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000)), "431"),
    ] {
        let answer = String::from_utf8(site.send(request.as_bytes())).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert!(
            answer.ends_with("\r\n\r\n") && answer.matches("\r\n\r\n").count() == 1,
            "{answer}"
        );
    }
}

#[test]
fn clients_that_do_not_read_delay_no_other_and_take_no_memory() {
    let site = Site::new();
    let slow: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = site.connect();
            stream.write_all(b"GET /huge.html HTTP/1.1\r\n\r\n").unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    // 64 times 24 MB were 1.5 GB.
    #[cfg(target_os = "linux")]
    {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kilobytes < 700_000, "{line}");
    }
    let began = Instant::now();
    while !site.is_alive() {
        assert!(
            began.elapsed() < Duration::from_mins(1),
            "a client waits for those that do not read"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(slow);
    let whole = site.send(b"GET /huge.html HTTP/1.1\r\n\r\n");
    assert!(whole.len() > 24 << 20 && whole.ends_with(b"</script></body>"));
}

#[test]
fn a_taken_port_leads_to_the_next() {
    let site = Site::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    if port < u16::MAX - 20 {
        let server = Server::start(&site.root(), port).unwrap();
        assert_ne!(server.address().port(), port);
        assert!(server.address().ip().is_loopback());
    }
    assert!(Server::start(&site.root().join("gone"), 0).is_err());
}

#[test]
fn pages_hear_of_a_change() {
    let site = Site::new();
    assert!(site.get("/__version").ends_with("\r\n\r\n0"));
    site.server.changed();
    assert!(site.get("/__version").ends_with("\r\n\r\n1"));
}
