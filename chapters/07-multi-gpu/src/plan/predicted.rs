//! What a data parallel step takes, predicted from parts that are measured by themselves.

use super::{
    network::Network,
    simulate::{Buckets, Job, Layer},
};
use crate::comm::cost::AlphaBeta;

/// What the prediction is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Seconds that the ranks take side by side for their parts of the images, without messages: they
    /// share memory and clock, and cores where there are fewer than ranks. Each is pinned to a core.
    pub compute: f64,
    /// Between the ranks of the ring.
    pub link: AlphaBeta,
    /// Bytes of the gradient.
    pub bytes: f64,
}

impl Parts {
    /// Seconds of a step over `p` ranks, with nothing hidden.
    // ANCHOR: predict
    pub fn predict(&self, p: usize) -> f64 {
        let bytes = self.bytes;
        let layer = Layer { forward: 0.0, backward: self.compute, bytes };
        let job = Job {
            layers: vec![layer],
            buckets: Buckets::AtTheEnd,
            route: None,
            update: 0.0,
            jitter: 0.0,
        };
        job.step(&Network::flat(self.link), p).total
    }
    // ANCHOR_END: predict
}
