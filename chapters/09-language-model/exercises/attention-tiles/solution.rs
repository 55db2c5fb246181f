//! Attention of one query, block after block of keys.

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

// EXERCISE: begin
/// What is known after some of the keys.
#[derive(Clone, Debug)]
pub struct State {
    /// The highest score.
    highest: f32,
    /// Σ eˢ⁻ᵐ, and Σ eˢ⁻ᵐ·v, with m the highest score.
    sum: f32,
    weighted: Vec<f32>,
}

impl State {
    /// Before the first key; values have `size` numbers.
    pub fn new(size: usize) -> Self {
        Self { highest: f32::NEG_INFINITY, sum: 0.0, weighted: vec![0.0; size] }
    }

    /// A block of keys and their values, row after row, as long as the query. A key's score is its product with the query.
    pub fn block(&mut self, query: &[f32], keys: &[f32], values: &[f32]) {
        let scores = keys.chunks_exact(query.len()).map(|key| dot(query, key));
        let scores: Vec<f32> = scores.collect(); // a tile: forgotten at the end of this call
        let highest = scores.iter().copied().fold(self.highest, f32::max);
        self.change_unit(highest);
        for (score, value) in scores.iter().zip(values.chunks_exact(query.len())) {
            let power = (score - highest).exp();
            self.sum += power;
            self.weighted.iter_mut().zip(value).for_each(|(w, v)| *w += power * v);
        }
    }

    /// Both together: as if one state had seen the keys of both.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        let mut other = other.clone();
        let highest = self.highest.max(other.highest);
        self.change_unit(highest);
        other.change_unit(highest);
        self.sum += other.sum;
        self.weighted.iter_mut().zip(&other.weighted).for_each(|(a, b)| *a += b);
        self
    }

    /// The mean of all values, weighted by the softmax of their scores.
    pub fn finish(self) -> Vec<f32> {
        self.weighted.iter().map(|weighted| weighted / self.sum).collect()
    }

    /// How many numbers it holds.
    pub fn held(&self) -> usize {
        2 + self.weighted.len()
    }

    /// Writes the sums with another highest score, which is no lower.
    fn change_unit(&mut self, highest: f32) {
        if highest > self.highest {
            let factor = (self.highest - highest).exp();
            self.sum *= factor;
            self.weighted.iter_mut().for_each(|w| *w *= factor);
            self.highest = highest;
        }
    }
}
// EXERCISE: instead
// /// What is known after some of the keys.
// #[derive(Clone, Debug)]
// pub struct State {
//     /// Every score and every value until now.
//     scores: Vec<f32>,
//     values: Vec<f32>,
//     size: usize,
// }
//
// impl State {
//     /// Before the first key; values have `size` numbers.
//     pub fn new(size: usize) -> Self {
//         Self { scores: Vec::new(), values: Vec::new(), size }
//     }
//
//     /// A block of keys and their values, row after row, as long as the query. A key's score is its product with the query.
//     pub fn block(&mut self, query: &[f32], keys: &[f32], values: &[f32]) {
//         let scores = keys.chunks_exact(query.len()).map(|key| dot(query, key));
//         self.scores.extend(scores);
//         self.values.extend_from_slice(values);
//     }
//
//     /// Both together: as if one state had seen the keys of both.
//     #[must_use]
//     pub fn join(mut self, other: &Self) -> Self {
//         self.scores.extend_from_slice(&other.scores);
//         self.values.extend_from_slice(&other.values);
//         self
//     }
//
//     /// The mean of all values, weighted by the softmax of their scores.
//     pub fn finish(self) -> Vec<f32> {
//         let highest = self.scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
//         let powers: Vec<f32> = self.scores.iter().map(|score| (score - highest).exp()).collect();
//         let sum: f32 = powers.iter().sum();
//         let mut result = vec![0.0; self.size];
//         for (power, value) in powers.iter().zip(self.values.chunks_exact(self.size)) {
//             result.iter_mut().zip(value).for_each(|(r, v)| *r += power / sum * v);
//         }
//         result
//     }
//
//     /// How many numbers it holds.
//     pub fn held(&self) -> usize {
//         self.scores.len() + self.values.len()
//     }
// }
// EXERCISE: end
