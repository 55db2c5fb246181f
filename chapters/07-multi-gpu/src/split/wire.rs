//! A slow network between ranks that share a memory: every message waits for α + β·bytes.

use crate::{Communicator, PointToPoint, Rank, Result};
use std::{thread, time::Duration};

/// What a message costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// α, the latency: seconds that every message takes, however short.
    pub latency: f64,
    /// β, the time per byte: one over the bandwidth.
    pub per_byte: f64,
}

impl Cost {
    /// A wire that takes no time of its own.
    pub const NOTHING: Self = Self { latency: 0.0, per_byte: 0.0 };

    /// Seconds of one message of `numbers` f32 numbers.
    pub fn message(self, numbers: usize) -> f64 {
        self.latency + self.per_byte * 4.0 * numbers as f64
    }

    /// Seconds of a ring's all-reduce of `numbers` f32 numbers over `ranks`: 2·(p − 1) messages of a p-th each.
    pub fn all_reduce(self, numbers: usize, ranks: usize) -> f64 {
        let messages = 2.0 * (ranks as f64 - 1.0);
        let bytes = 4.0 * numbers as f64 / ranks as f64;
        messages * (self.latency + self.per_byte * bytes)
    }
}

/// A communicator whose messages take time. The sender sleeps, as it would wait for a network card; collective
/// operations are rings of such messages.
#[derive(Debug)]
pub struct Wire<C> {
    inner: C,
    cost: Cost,
}

impl<C: PointToPoint> Wire<C> {
    /// `inner`, at this cost.
    pub fn new(inner: C, cost: Cost) -> Self {
        Self { inner, cost }
    }

    // ANCHOR: wire
    fn wait(&self, data: &[f32]) {
        let seconds = self.cost.message(data.len());
        if seconds > 0.0 {
            thread::sleep(Duration::from_secs_f64(seconds));
        }
    }
    // ANCHOR_END: wire
}

impl<C: PointToPoint> PointToPoint for Wire<C> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        self.wait(data);
        self.inner.send(to, data)
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        self.inner.receive(from, data)
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.wait(send);
        self.inner.exchange(to, send, from, receive)
    }
}

impl<C: PointToPoint> Communicator for Wire<C> {}
