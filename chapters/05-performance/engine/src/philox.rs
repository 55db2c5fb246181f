//! Dropout's random numbers: a function of the seed, the draw and the number's place, so that they depend on no thread.
//!
//! Philox-4×32 with 7 rounds: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", table 2.

use crate::{state, tensor::Tensor, words::whole};

/// Counters whose words are made at once, in vectors.
const LANES: usize = 16;
/// Numbers that these decide about, 16 bits each.
const GROUP: usize = 8 * LANES;

/// A word for each of them.
type Words = [u32; LANES];

/// Four random words for each counter, after seven rounds.
#[inline(always)]
fn philox([mut c0, mut c1, mut c2, mut c3]: [Words; 4], mut key: [u32; 2]) -> [Words; 4] {
    // ANCHOR: round
    for _ in 0..7 {
        let (low, high) = (times(c0, 0xd251_1f53), times(c2, 0xcd9e_8d57));
        for lane in 0..LANES {
            c0[lane] = high[1][lane] ^ c1[lane] ^ key[0];
            c2[lane] = low[1][lane] ^ c3[lane] ^ key[1];
        }
        [c1, c3] = [high[0], low[0]];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    // ANCHOR_END: round
    [c0, c1, c2, c3]
}

/// The lower and the upper halves of products.
#[inline(always)]
fn times(words: Words, by: u64) -> [Words; 2] {
    let mut halves = [[0; LANES]; 2];
    for lane in 0..LANES {
        let product = u64::from(words[lane]) * by;
        (halves[0][lane], halves[1][lane]) = (product as u32, (product >> 32) as u32);
    }
    halves
}

/// Leaves a fraction of the numbers out and scales the others.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// Below this one, 16 random bits leave their number out.
    pub below: u32,
    /// What the others are multiplied with.
    pub scale: f32,
    /// Which of the model's dropouts it is.
    pub site: u32,
    /// Images of the program before those that it sees.
    pub first: usize,
    /// Where the seed and the draw's number are.
    pub state: Tensor,
}

impl Dropout {
    /// For a fraction from 0 up to, not including, 1, rounded to a 65536th.
    pub fn new(fraction: f64, site: u32) -> Self {
        let below = (fraction * 65536.0).round().clamp(0.0, 65535.0);
        let scale = (1.0 / (1.0 - below / 65536.0)) as f32;
        Self { below: below as u32, scale, site, first: 0, state: state::tensor() }
    }

    /// What the numbers of a group are multiplied with.
    #[inline(always)]
    fn mask(&self, state: &[u32], group: u32) -> [f32; GROUP] {
        let (mut counters, mut mask) = ([[0; LANES]; 4], [0.0; GROUP]);
        for (lane, counter) in counters[0].iter_mut().enumerate() {
            *counter = group * LANES as u32 + lane as u32;
        }
        counters[1] = [state[state::DRAW]; LANES];
        let words = philox(counters, [state[state::SEED], self.site]);
        for (half, mask) in mask.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            for (mask, word) in mask.iter_mut().zip(&words[half / 2]) {
                let bits = word >> (16 * (half % 2)) & 0xffff;
                *mask = if bits >= self.below { self.scale } else { 0.0 };
            }
        }
        mask
    }

    /// Treats `y`, whose first number is number `first` of the step.
    pub fn apply(&self, state: &[f32], first: usize, y: &mut [f32]) {
        let state = whole(state);
        lab::wide!(|| {
            let mut done = 0;
            while done < y.len() {
                let (group, within) = ((first + done) / GROUP, (first + done) % GROUP);
                let end = y.len().min(done + GROUP - within);
                let mask = self.mask(state, group as u32);
                y[done..end].iter_mut().zip(&mask[within..]).for_each(|(y, mask)| *y *= mask);
                done = end;
            }
        });
    }
}
