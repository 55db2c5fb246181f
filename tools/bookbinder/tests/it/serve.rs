//! The book's server, spoken to over raw sockets.

use bookbinder::serve::Server;
use lab::testing::{ask, put};
use std::{io::Read, path::PathBuf};

struct Site {
    folder: tempfile::TempDir,
    server: Server,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("book");
        for (file, text) in [
            ("../secret.txt", "secret"),
            ("index.html", "<html><body>home</body></html>"),
            ("404.html", "<html><body>lost</body></html>"),
            ("sub/index.html", "<p>sub"),
            ("sub/a b.css", "p {}"),
            (".hidden", "secret"),
            ("huge.html", &("<p>".repeat(8 << 20) + "</body>")),
        ] {
            put(&root, file, text);
        }
        put(&root, "big.woff2", vec![7; 1 << 20]);
        #[cfg(unix)]
        for (to, link) in [("../secret.txt", "link.txt"), ("..", "up")] {
            std::os::unix::fs::symlink(to, root.join(link)).unwrap();
        }
        let server = Server::start(&root, 0, &["book.example.org".to_owned()]).unwrap();
        Self { folder, server }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("book")
    }

    /// Sends bytes and reads until the server hangs up.
    fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut answer = Vec::new();
        let _ = ask(self.server.address(), bytes).read_to_end(&mut answer);
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
    assert!(home.contains("/__version") && home.trim_end().ends_with("</script></body></html>"));
    let style = site.get("/sub/a%20b.css?v=1");
    let head = "Content-Type: text/css; charset=utf-8\r\nContent-Length: 4\r\n";
    assert!(style.contains(head), "{style}");
    assert!(style.ends_with("\r\n\r\np {}"), "a style sheet gets no script: {style}");
    let big = site.send(b"GET /big.woff2 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert!(big.len() > 1 << 20 && big.ends_with(&[7; 100]));
    let huge = site.get("/huge.html");
    assert!(huge.len() > 24 << 20 && huge.ends_with("</script></body>"));
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
fn the_book_is_only_read_and_by_its_names() {
    let site = Site::new();
    for (request, status) in [
        ("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "405"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
        ("GET / HTTP/1.1\r\nHost: book.example.org\r\n\r\n", "200"),
        ("HEAD /gone.html HTTP/1.1\r\n\r\n", "404"),
        ("HEAD /sub HTTP/1.1\r\n\r\n", "301"),
    ] {
        let answer = String::from_utf8_lossy(&site.send(request.as_bytes())).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
        let named = answer.contains("--host evil.example");
        assert_eq!(named, status == "421", "{answer}");
        let empty = answer.ends_with("\r\n\r\n");
        assert_eq!(empty, request.starts_with("HEAD"), "{answer}");
    }
    assert!(Server::start(&site.root().join("gone"), 0, &[]).is_err());
}

#[test]
fn pages_hear_of_a_change() {
    let site = Site::new();
    assert!(site.get("/__version").ends_with("\r\n\r\n0"));
    site.server.changed();
    assert!(site.get("/__version").ends_with("\r\n\r\n1"));
}
