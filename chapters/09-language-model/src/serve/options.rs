//! Where and within which limits a model is served.

use lab::serve;
use std::time::Duration;

/// Where and within which limits a model is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the server listens, and the limits of connections, requests and its end.
    pub http: serve::Options,
    /// Requests in one step.
    pub batch: usize,
    /// Requests that wait for a place in the batch; the next one is told that the server is busy.
    pub queue: usize,
    /// The most tokens of an answer.
    pub tokens: usize,
    /// The longest time of an answer, waiting included; then it ends with what there is.
    pub time: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            http: serve::Options {
                port: 8000,
                body: 64 << 10,
                grace: Duration::from_secs(5),
                json: true,
                ..serve::Options::default()
            },
            batch: 16,
            queue: 64,
            tokens: 1024,
            time: Duration::from_mins(1),
        }
    }
}
