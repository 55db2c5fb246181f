//! Islands of cards with fast links inside and slower ones between them, and what a collective operation takes there.

use crate::comm::cost::{self, AlphaBeta};
use serde::Serialize;

/// Cards in islands: eight behind one `NVLink` switch, for example, and a network from island to island.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Network {
    /// Cards of an island; 1 if there are none.
    pub island: usize,
    /// From card to card inside an island.
    pub inside: AlphaBeta,
    /// From island to island, through one network adapter.
    pub between: AlphaBeta,
    /// Cards that share a network adapter: 1 if each has its own, 8 if an island of eight has one.
    pub sharing: f64,
}

/// The order in which cards talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Route {
    /// One ring over all cards, which enters and leaves each island once.
    Ring,
    /// A reduce-scatter in each island, a ring of islands for each part, an all-gather in each island.
    Hierarchical,
    /// A chain in each island and trees of islands, one up and one down, in pieces that follow each other.
    Tree,
}

/// The fraction of a ring's bandwidth that trees reach, as NCCL itself plans with it (`src/graph/tuning.cc`, version
/// 2.18).
const TREE: f64 = 0.92;

impl Route {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ring, Self::Hierarchical, Self::Tree];
}

/// How many steps a ring of so many takes: once around to add up, once to hand out.
fn steps(of: usize) -> f64 {
    2.0 * of.saturating_sub(1) as f64
}

/// The fraction of the bytes that each of them sends on the way.
fn part(of: usize) -> f64 {
    steps(of) / of.max(1) as f64
}

impl Network {
    /// Cards that all reach each other in the same way, such as threads of one machine.
    pub fn flat(link: AlphaBeta) -> Self {
        Self { island: 1, inside: link, between: link, sharing: 1.0 }
    }

    /// The network as a group of ranks sees it whose neighbours are `stride` ranks apart, while the other groups use it
    /// in the same way: tensor parallel ranks are neighbours, so data parallel ones are as far apart as there are of
    /// them.
    #[must_use]
    pub fn strided(self, stride: usize) -> Self {
        Self { island: (self.island / stride.max(1)).max(1), ..self }
    }

    /// Seconds of an all-reduce of `bytes` over `p` cards.
    // ANCHOR: all_reduce
    pub fn all_reduce(&self, route: Route, bytes: f64, p: usize) -> f64 {
        let (here, islands) = (p.min(self.island), p.div_ceil(self.island));
        let (a, b) = (self.inside, self.between);
        let inside = steps(here) * a.alpha + part(here) * bytes * a.beta;
        if islands < 2 {
            return inside;
        }
        // Each network adapter of the island carries its part.
        let wire = b.beta * self.sharing / here as f64;
        let slowest = wire.max(if here > 1 { a.beta } else { 0.0 });
        let across = steps(p).min(2.0 * islands as f64);
        let rounds = 2.0 * f64::from(cost::rounds(islands));
        let latency = match route {
            Route::Ring => across * b.alpha + (steps(p) - across) * a.alpha,
            Route::Hierarchical => steps(islands) * b.alpha,
            Route::Tree => rounds * b.alpha + steps(here) * a.alpha,
        };
        latency
            + match route {
                Route::Ring => part(p) * bytes * slowest,
                Route::Hierarchical => inside + part(islands) * bytes * wire,
                Route::Tree => 2.0 * bytes * slowest / TREE,
            }
    }
    // ANCHOR_END: all_reduce

    /// Seconds of an all-reduce by whatever route is fastest, as libraries choose it.
    pub fn fastest(&self, bytes: f64, p: usize) -> f64 {
        let times = Route::ALL.map(|route| self.all_reduce(route, bytes, p));
        times.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Seconds of a reduce-scatter or of an all-gather: half of an all-reduce.
    pub fn half(&self, bytes: f64, p: usize) -> f64 {
        0.5 * self.fastest(bytes, p)
    }

    /// Seconds to send `bytes` on its slowest way among so many cards.
    pub fn send(&self, bytes: f64, cards: usize) -> f64 {
        let (link, sharing) =
            if cards <= self.island { (self.inside, 1.0) } else { (self.between, self.sharing) };
        link.alpha + bytes * link.beta * sharing
    }
}
