//! Attention of one query, block after block of keys.

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

// EXERCISE: begin
/// What is known after some of the keys.
#[derive(Clone, Debug)]
pub struct State {
    /// Every score and every value until now.
    scores: Vec<f32>,
    values: Vec<f32>,
    size: usize,
}

impl State {
    /// Before the first key; values have `size` numbers.
    pub fn new(size: usize) -> Self {
        Self { scores: Vec::new(), values: Vec::new(), size }
    }

    /// A block of keys and their values, row after row, as long as the query. A key's score is its product with the query.
    pub fn block(&mut self, query: &[f32], keys: &[f32], values: &[f32]) {
        let scores = keys.chunks_exact(query.len()).map(|key| dot(query, key));
        self.scores.extend(scores);
        self.values.extend_from_slice(values);
    }

    /// Both together: as if one state had seen the keys of both.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.scores.extend_from_slice(&other.scores);
        self.values.extend_from_slice(&other.values);
        self
    }

    /// The mean of all values, weighted by the softmax of their scores.
    pub fn finish(self) -> Vec<f32> {
        let highest = self.scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f32> = self.scores.iter().map(|score| (score - highest).exp()).collect();
        let sum: f32 = powers.iter().sum();
        let mut result = vec![0.0; self.size];
        for (power, value) in powers.iter().zip(self.values.chunks_exact(self.size)) {
            result.iter_mut().zip(value).for_each(|(r, v)| *r += power / sum * v);
        }
        result
    }

    /// How many numbers it holds.
    pub fn held(&self) -> usize {
        self.scores.len() + self.values.len()
    }
}
// EXERCISE: end
