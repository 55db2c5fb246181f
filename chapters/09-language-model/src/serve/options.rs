//! Where and within which limits a model is served.

use super::http;
use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

/// Where and within which limits a model is served.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The address; the loopback one unless chosen otherwise.
    pub address: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Requests in one step.
    pub batch: usize,
    /// Requests that wait for a place in the batch; the next one is told that the server is busy.
    pub queue: usize,
    /// Connections at the same time.
    pub connections: usize,
    /// The most tokens of an answer.
    pub tokens: usize,
    /// The longest time of an answer, waiting included; then it ends with what there is.
    pub time: Duration,
    /// The largest body of a request, and how long a client may take to send it and to read.
    pub http: http::Limits,
    /// When the server stops: how long the answers that are being made may go on.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 8000,
            batch: 16,
            queue: 64,
            connections: 128,
            tokens: 1024,
            time: Duration::from_mins(1),
            http: http::Limits {
                body: 64 << 10,
                request: Duration::from_secs(5),
                write: Duration::from_secs(5),
            },
            grace: Duration::from_secs(5),
        }
    }
}
