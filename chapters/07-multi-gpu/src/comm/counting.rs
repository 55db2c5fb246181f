//! How much is sent: a communicator that counts the messages of another one.

use super::cost::rounds;
use crate::{Communicator, PointToPoint, Rank, Result};

/// Messages that a rank has sent and received, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent.
    pub sent: usize,
    /// Messages received.
    pub received: usize,
    /// Bytes sent.
    pub bytes_sent: usize,
    /// Bytes received.
    pub bytes_received: usize,
}

impl Traffic {
    /// So many messages of `bytes` each way.
    fn both(messages: usize, bytes: usize) -> Self {
        let (sent, bytes_sent) = (messages, messages * bytes);
        Self { sent, received: messages, bytes_sent, bytes_received: bytes_sent }
    }

    /// What one rank sends and receives in a naive all-reduce of `bytes` over `p` ranks.
    pub fn naive(rank: Rank, bytes: usize, p: usize) -> Self {
        Self::both(if rank.0 == 0 { p - 1 } else { 1 }, bytes)
    }

    /// In a ring, where `p` divides the numbers.
    pub fn ring(bytes: usize, p: usize) -> Self {
        Self::both(2 * (p - 1), bytes / p)
    }

    /// In a tree: a message each way for each child, and one each way for the parent.
    pub fn tree(rank: Rank, bytes: usize, p: usize) -> Self {
        let below = if rank.0 == 0 { rounds(p) } else { rank.0.trailing_zeros() };
        let children = (0..below).filter(|round| rank.0 + (1 << round) < p).count();
        Self::both(children + usize::from(rank.0 > 0), bytes)
    }

    /// In recursive halving and doubling, where `p` is a power of two that divides the numbers.
    pub fn halving(bytes: usize, p: usize) -> Self {
        let messages = 2 * p.ilog2() as usize;
        Self { sent: messages, received: messages, ..Self::both(1, 2 * (bytes - bytes / p)) }
    }
}

/// A message that a rank has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// To whom.
    pub to: Rank,
    /// How many numbers.
    pub numbers: usize,
    /// From whom another one came at the same time.
    pub from: Option<Rank>,
}

/// A communicator that counts. Its collectives are the trait's own, so their messages are also counted.
#[derive(Debug)]
pub struct Counting<C> {
    inner: C,
    traffic: Traffic,
    sent: Vec<Sent>,
}

impl<C: PointToPoint> Counting<C> {
    /// Counts the messages of `inner` from here.
    pub fn new(inner: C) -> Self {
        Self { inner, traffic: Traffic::default(), sent: Vec::new() }
    }

    /// What was sent so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// The messages that were sent so far, one by one.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// All messages so far; the next ones are counted anew.
    pub fn take(&mut self) -> Traffic {
        std::mem::take(&mut self.traffic)
    }

    fn note_sent(&mut self, to: Rank, data: &[f32], from: Option<Rank>) {
        self.sent.push(Sent { to, numbers: data.len(), from });
        self.traffic.sent += 1;
        self.traffic.bytes_sent += size_of_val(data);
    }

    fn note_received(&mut self, data: &[f32]) {
        self.traffic.received += 1;
        self.traffic.bytes_received += size_of_val(data);
    }
}

impl<C: PointToPoint> PointToPoint for Counting<C> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        self.inner.send(to, data)?;
        self.note_sent(to, data, None);
        Ok(())
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        self.inner.receive(from, data)?;
        self.note_received(data);
        Ok(())
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.inner.exchange(to, send, from, receive)?;
        self.note_sent(to, send, Some(from));
        self.note_received(receive);
        Ok(())
    }
}

impl<C: PointToPoint> Communicator for Counting<C> {}
