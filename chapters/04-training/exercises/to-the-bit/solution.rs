//! A run that can be stopped after any step.

use backprop::random::{SplitMix64, numbers};

/// Momentum on gradients with noise, and a rate that falls.
#[derive(Clone, Debug)]
pub struct Run {
    /// What is trained.
    pub parameters: Vec<f32>,
    velocity: Vec<f32>,
    steps: u64,
    seed: u64,
    noise: SplitMix64,
}

impl Run {
    /// The beginning of a run.
    pub fn new(count: usize, seed: u64) -> Self {
        Self {
            parameters: numbers(count, seed),
            velocity: vec![0.0; count],
            steps: 0,
            seed,
            noise: SplitMix64::new(seed),
        }
    }

    /// One step of training. It draws one random number for each parameter.
    pub fn step(&mut self) {
        let lr = 0.1 / (1.0 + 0.05 * self.steps as f32);
        for (p, v) in self.parameters.iter_mut().zip(&mut self.velocity) {
            let gradient = *p - 0.5 + 0.1 * self.noise.unit() as f32;
            *v = 0.9 * *v + gradient;
            *p -= lr * *v;
        }
        self.steps += 1;
    }

    /// All that a checkpoint needs.
    pub fn save(&self) -> Vec<u8> {
        // EXERCISE: begin
        let mut bytes = [self.seed, self.steps].map(u64::to_le_bytes).concat();
        let values = self.parameters.iter().chain(&self.velocity);
        bytes.extend(values.flat_map(|x| x.to_le_bytes()));
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
        // EXERCISE: instead
        // let mut bytes = self.seed.to_le_bytes().to_vec();
        // bytes.extend(self.parameters.iter().flat_map(|x| x.to_le_bytes()));
        // bytes
        // EXERCISE: end
    }

    /// The run that `save` has written. None, if these are not all of its bytes and nothing else.
    pub fn resume(bytes: &[u8]) -> Option<Self> {
        // EXERCISE: begin
        let (bytes, sum) = bytes.split_last_chunk()?;
        if checksum(bytes) != u64::from_le_bytes(*sum) {
            return None;
        }
        let (seed, bytes) = bytes.split_first_chunk()?;
        let (steps, bytes) = bytes.split_first_chunk()?;
        let mut parameters = floats(bytes)?;
        let velocity = parameters.split_off(parameters.len() / 2);
        let mut run = Self::new(parameters.len(), u64::from_le_bytes(*seed));
        let steps = u64::from_le_bytes(*steps);
        for _ in 0..steps * parameters.len() as u64 {
            run.noise.next();
        }
        Some(Self { parameters, velocity, steps, ..run })
        // EXERCISE: instead
        // let (seed, bytes) = bytes.split_first_chunk()?;
        // let parameters = floats(bytes)?;
        // let run = Self::new(parameters.len(), u64::from_le_bytes(*seed));
        // // Is that all? And what if the file is damaged?
        // let _ = checksum(bytes);
        // Some(Self { parameters, ..run })
        // EXERCISE: end
    }
}

/// Values of four bytes each; none if the last one is not whole.
fn floats(bytes: &[u8]) -> Option<Vec<f32>> {
    let (values, []) = bytes.as_chunks() else { return None };
    Some(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

/// FNV-1a in 64 bits: a number that changes with any one byte.
fn checksum(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.iter().fold(start, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
