//! A server's client, over a raw socket.

use std::{
    io::{Read as _, Write as _},
    net::{TcpStream, ToSocketAddrs},
    thread,
    time::{Duration, Instant},
};

/// Connects to a server and sends it bytes.
///
/// # Panics
/// If no one listens there.
pub fn ask(address: impl ToSocketAddrs, bytes: impl AsRef<[u8]>) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("someone listens");
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    // The server may respond and hang up before it has read everything.
    let _ = stream.write_all(bytes.as_ref());
    stream
}

/// Everything that comes until the server hangs up.
pub fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Waits until something holds.
///
/// # Panics
/// If it does not within three minutes: others may keep the machine busy.
pub fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_mins(3);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}
