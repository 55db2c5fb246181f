//! A slow network between ranks that share a memory: every message waits for α + β·bytes.

use crate::{Communicator, PointToPoint, Rank, Result, comm::AlphaBeta};
use std::{thread, time::Duration};

/// A communicator whose messages take time. The sender sleeps, as it would wait for a network card; collective
/// operations are rings of such messages.
#[derive(Debug)]
pub struct Wire<C> {
    inner: C,
    cost: AlphaBeta,
}

impl<C: PointToPoint> Wire<C> {
    /// `inner`, at this cost.
    pub fn new(inner: C, cost: AlphaBeta) -> Self {
        Self { inner, cost }
    }

    // ANCHOR: wire
    fn wait(&self, data: &[f32]) {
        let seconds = self.cost.message(4.0 * data.len() as f64);
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
