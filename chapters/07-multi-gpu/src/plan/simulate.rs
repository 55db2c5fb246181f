//! One data parallel step, event by event: layers are computed, their gradients wait for the network, cards wait for
//! the slowest.

use super::{
    cards::Card,
    model::Workload,
    network::{Network, Route},
};

/// One layer of a card's own part of the batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// Seconds of its forward pass.
    pub forward: f64,
    /// Seconds of its backward pass.
    pub backward: f64,
    /// Bytes of its gradient.
    pub bytes: f64,
}

/// Which gradients travel together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buckets {
    /// All of them, when the backward pass has ended: nothing is hidden.
    AtTheEnd,
    /// A bucket leaves as soon as it has this many bytes, as in PyTorch.
    Full(f64),
    /// Every so many seconds, what is there leaves, up to so many bytes, as in Horovod.
    Every(f64, f64),
}

/// A step to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// From the input to the loss.
    pub layers: Vec<Layer>,
    /// Which gradients travel together.
    pub buckets: Buckets,
    /// By which way; the fastest one for each message if there is no choice.
    pub route: Option<Route>,
    /// Seconds of the optimizer.
    pub update: f64,
    /// How much the cards' computing times differ: the standard deviation, as a fraction of the mean.
    pub jitter: f64,
}

/// What a simulated step has come to, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// From the beginning to the last update.
    pub total: f64,
    /// Of a card that is as fast as the mean, without the others.
    pub compute: f64,
    /// Communication that nothing hides.
    pub exposed: f64,
    /// When each message began and ended.
    pub messages: Vec<(f64, f64)>,
}

impl Step {
    /// All of the communication.
    pub fn communication(&self) -> f64 {
        self.messages.iter().map(|(start, end)| end - start).sum()
    }
}

impl Job {
    /// Simulates a step on `p` cards.
    // ANCHOR: step
    pub fn step(&self, network: &Network, p: usize) -> Step {
        let slow = 1.0 + self.jitter * expected_max(p);
        let forward: f64 = self.layers.iter().map(|l| l.forward).sum();
        let mut now = slow * forward;
        let mut ready = Vec::new(); // on the slowest card
        for layer in self.layers.iter().rev() {
            now += slow * layer.backward;
            if layer.bytes > 0.0 {
                ready.push((now, layer.bytes));
            }
        }
        let (mut free, mut messages) = (0.0_f64, Vec::new());
        while !ready.is_empty() && p > 1 {
            let (start, bytes) = self.next_message(&mut ready, free, now);
            free = start + self.seconds(network, bytes, p);
            messages.push((start, free));
        }
        Step {
            total: now.max(free) + self.update,
            exposed: (free - now).max(0.0),
            compute: now / slow + self.update,
            messages,
        }
    }
    // ANCHOR_END: step

    /// Of a card's part of the batch, kernel by kernel.
    pub fn of(work: &Workload, card: &Card, examples: f64, buckets: Buckets) -> Self {
        let layers = work.blocks.iter().map(|block| {
            let passes = block.passes(examples);
            let [forward, backward] = passes.map(|pass| card.seconds(pass, work.precision.weight));
            Layer { forward, backward, bytes: block.parameters * work.precision.gradient }
        });
        let layers = layers.collect();
        let update = work.parameters() * work.precision.moved() / card.bandwidth;
        Self { layers, buckets, route: None, update: update + card.kernel.start, jitter: 0.0 }
    }

    /// What a message takes.
    fn seconds(&self, network: &Network, bytes: f64, p: usize) -> f64 {
        match self.route {
            Some(route) => network.all_reduce(route, bytes, p),
            None => network.fastest(bytes, p),
        }
    }

    /// Takes the next message's gradients out of `ready`: when it can begin, and its bytes.
    fn next_message(&self, ready: &mut Vec<(f64, f64)>, free: f64, end: f64) -> (f64, f64) {
        let (start, most) = match self.buckets {
            Buckets::AtTheEnd => (free.max(end), f64::INFINITY),
            Buckets::Full(size) => {
                let mut bytes = 0.0;
                let full = ready.iter().position(|(_, b)| {
                    bytes += b;
                    bytes >= size
                });
                let last = full.unwrap_or(ready.len() - 1);
                let bytes: f64 = ready[..=last].iter().map(|(_, bytes)| bytes).sum();
                (free.max(ready[last].0), bytes)
            }
            Buckets::Every(seconds, most) => {
                let tick = (free.max(ready[0].0) / seconds).ceil() * seconds;
                (tick, most)
            }
        };
        let (mut bytes, mut taken) = (0.0, 0);
        for (at, more) in ready.iter() {
            // A gradient is never cut in two, so the first one travels however large it is.
            if *at > start || (taken > 0 && bytes + more > most) {
                break;
            }
            bytes += more;
            taken += 1;
        }
        ready.drain(..taken.max(1));
        (start, bytes)
    }
}

/// How many standard deviations the slowest of `p` cards lies above the mean, if their times are normally distributed:
/// the expected maximum of `p` draws, the integral of 1 − Φᵖ above the mean less that of Φᵖ below it.
// ANCHOR: expected_max
pub fn expected_max(p: usize) -> f64 {
    const STEP: f64 = 1e-3;
    let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    let (mut below, mut sum) = (0.0, 0.0); // Φ, from −8 up
    for i in -8000..8000 {
        let middle = (f64::from(i) + 0.5) * STEP;
        let all_below = (below + 0.5 * STEP * density(middle)).powf(p as f64);
        sum += STEP * if middle > 0.0 { 1.0 - all_below } else { -all_below };
        below += STEP * density(middle);
    }
    if p < 2 { 0.0 } else { sum }
}
// ANCHOR_END: expected_max
