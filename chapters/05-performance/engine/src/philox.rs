//! Dropout's random numbers: a function of the seed, the draw and the number's place, so that they depend on no thread.
//!
//! Philox-4×32 with 7 rounds: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", table 2.

use crate::{state, tensor::Tensor, words::whole};

/// Four random words for each counter.
#[inline(always)]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    // ANCHOR: round
    for _ in 0..7 {
        let low = u64::from(counter[0]) * 0xd251_1f53;
        let high = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (high >> 32) as u32 ^ counter[1] ^ key[0],
            high as u32,
            (low >> 32) as u32 ^ counter[3] ^ key[1],
            low as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    // ANCHOR_END: round
    counter
}

/// Numbers that one counter decides about: 16 bits each.
const EACH: usize = 8;
/// Counters whose words are made at once, in vectors.
const LANES: usize = 16;

/// Leaves a fraction of the numbers out and scales the others.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// Below this one, 16 random bits leave their number out.
    pub below: u32,
    pub scale: f32,
    /// Which of the model's dropouts it is.
    pub site: u32,
    /// Where the seed and the step's number are.
    pub state: Tensor,
}

impl Dropout {
    /// For a fraction from 0 up to, not including, 1, rounded to a 65536th.
    pub fn new(fraction: f64, site: u32) -> Self {
        let below = (fraction * 65536.0).round().clamp(0.0, 65535.0);
        let scale = (1.0 / (1.0 - below / 65536.0)) as f32;
        Self { below: below as u32, scale, site, state: state::tensor() }
    }

    /// Treats `y`, whose first number is number `first` of the step: a multiple of 8.
    pub fn apply(&self, state: &[f32], first: usize, y: &mut [f32]) {
        assert!(first.is_multiple_of(EACH), "a block of dropout begins at a multiple of {EACH}");
        let state = whole(state);
        let (key, step) = ([state[state::SEED], self.site], state[state::DRAW]);
        let (below, scale) = (self.below, self.scale);
        lab::wide!(|| {
            for (chunk, y) in y.chunks_mut(EACH * LANES).enumerate() {
                let start = (first / EACH + chunk * LANES) as u32;
                let mut words = [[0; LANES]; 4];
                for lane in 0..LANES {
                    let four = philox([start + lane as u32, step, 0, 0], key);
                    (0..4).for_each(|word| words[word][lane] = four[word]);
                }
                for (lane, y) in y.chunks_mut(EACH).enumerate() {
                    for (at, y) in y.iter_mut().enumerate() {
                        let bits = words[at / 2][lane] >> (16 * (at % 2)) & 0xffff;
                        *y *= if bits >= below { scale } else { 0.0 };
                    }
                }
            }
        });
    }
}
