//! Rotary positions: each pair of a query's or a key's values is turned by an angle that grows with the token's position
//! (Su et al. 2021, "`RoFormer`: Enhanced Transformer with Rotary Position Embedding"). A query's product with a key then
//! depends on how far apart the two tokens are, and not on where they stand.
//!
//! Value i of a head is paired with value i + head/2; the pair turns by position · 10000^(−2i/head). Turning back is the
//! backward pass: the transpose of a rotation is its inverse.

use lab::vectors::wide;
use std::sync::Arc;

/// The pairs' angles at position 1 are powers of this.
pub const BASE: f64 = 10_000.0;

/// Cosines and sines of all positions.
#[derive(Clone, Debug)]
pub struct Rotary {
    /// [positions, head / 2].
    cos: Vec<f32>,
    sin: Vec<f32>,
    half: usize,
}

impl Rotary {
    /// The angles of `positions` for heads of `head` values, an even number.
    pub fn new(positions: usize, head: usize) -> Self {
        let half = head / 2;
        let angle = |at: usize| {
            let (position, pair) = ((at / half) as f64, (at % half) as f64);
            position * BASE.powf(-2.0 * pair / head as f64)
        };
        let table = |f: fn(f64) -> f64| (0..positions * half).map(move |at| f(angle(at)) as f32);
        Self { cos: table(f64::cos).collect(), sin: table(f64::sin).collect(), half }
    }

    /// The bits of the cosines, [positions, head / 2], then those of the sines: what a device reads.
    pub(crate) fn words(&self) -> Arc<[u32]> {
        self.cos.iter().chain(&self.sin).map(|x| x.to_bits()).collect()
    }

    /// Turns the values of all heads in `row`, which lie side by side, to a position.
    pub fn forward(&self, row: &mut [f32], position: usize) {
        self.turn(row, position, 1.0);
    }

    /// Turns derivatives back.
    pub fn backward(&self, row: &mut [f32], position: usize) {
        self.turn(row, position, -1.0);
    }

    // ANCHOR: turn
    fn turn(&self, row: &mut [f32], position: usize, sign: f32) {
        let angles = position * self.half..(position + 1) * self.half;
        let (cos, sin) = (&self.cos[angles.clone()], &self.sin[angles]);
        wide!(|| {
            for head in row.chunks_exact_mut(2 * self.half) {
                let (left, right) = head.split_at_mut(self.half);
                let pairs = left.iter_mut().zip(right).zip(cos.iter().zip(sin));
                for ((a, b), (cos, sin)) in pairs {
                    let (x, y, sin) = (*a, *b, sin * sign);
                    (*a, *b) = (x * cos - y * sin, x * sin + y * cos);
                }
            }
        });
    }
    // ANCHOR_END: turn
}
