//! Rotary positions: each pair of a query's or a key's values is turned by an angle that grows with the token's position
//! (Su et al. 2021, "`RoFormer`: Enhanced Transformer with Rotary Position Embedding"). A query's product with a key then
//! depends on how far apart the two tokens are, and not on where they stand.
//!
//! Value i of a head is paired with value i + head/2; the pair turns by position · 10000^(−2i/head). Turning back is the
//! backward pass: the transpose of a rotation is its inverse.

use lab::vectors::wide;

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

    /// How many positions there are angles for.
    pub fn positions(&self) -> usize {
        self.cos.len() / self.half.max(1)
    }

    /// Cosines and sines, [positions, head / 2] each, for a device.
    pub(crate) fn tables(&self) -> [&[f32]; 2] {
        [&self.cos, &self.sin]
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

#[cfg(test)]
mod tests {
    use super::*;
    use lab::random::numbers;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn a_product_depends_on_the_distance_alone() {
        for head in [2, 6, 32] {
            let rotary = Rotary::new(50, head);
            assert_eq!(rotary.positions(), 50);
            let at = |values: &[f32], position| {
                let mut row = values.to_vec();
                rotary.forward(&mut row, position);
                row
            };
            let (q, k) = (numbers(head, 1), numbers(head, 2));
            assert_eq!(at(&q, 0), q);
            let near = dot(&at(&q, 7), &at(&k, 3));
            assert!((near - dot(&at(&q, 49), &at(&k, 45))).abs() < 1e-4, "{head}");
            assert!((near - dot(&at(&q, 7), &at(&k, 4))).abs() > 1e-4, "{head}");
        }
    }

    #[test]
    fn backward_turns_back_and_is_the_transpose() {
        let rotary = Rotary::new(9, 6);
        let (x, dy) = (numbers(18, 1), numbers(18, 2));
        let (mut y, mut dx) = (x.clone(), dy.clone());
        rotary.forward(&mut y, 8);
        rotary.backward(&mut dx, 8);
        assert!((dot(&y, &dy) - dot(&x, &dx)).abs() < 1e-5);
        rotary.backward(&mut y, 8);
        assert!(y.iter().zip(&x).all(|(y, x)| (y - x).abs() < 1e-6));
    }
}
