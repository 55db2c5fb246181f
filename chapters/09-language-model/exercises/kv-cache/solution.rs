//! One head of causal attention that reads a text token by token.

/// A token's query, key and value: what a layer's weights make of it.
pub struct Projected {
    /// What it looks for.
    pub query: Vec<f32>,
    /// What it is found by.
    pub key: Vec<f32>,
    /// What it has to say.
    pub value: Vec<f32>,
}

/// A head that has read some tokens.
#[derive(Default)]
pub struct Head {
    // EXERCISE: begin
    /// The keys and the values of the text so far.
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
    // EXERCISE: instead
    // /// The text so far.
    // tokens: Vec<u32>,
    // EXERCISE: end
}

impl Head {
    /// Reads one more token and returns what the head says at it: the mean of the values of all tokens so far, itself included,
    /// weighted by the softmax of query · key over the root of the head's size. `project` is expensive.
    pub fn step(&mut self, token: u32, project: impl Fn(u32) -> Projected) -> Vec<f32> {
        // EXERCISE: begin
        let Projected { query, key, value } = project(token);
        self.keys.push(key);
        self.values.push(value);
        let keys: Vec<&[f32]> = self.keys.iter().map(|key| &key[..]).collect();
        let values: Vec<&[f32]> = self.values.iter().map(|value| &value[..]).collect();
        attend(&query, &keys, &values)
        // EXERCISE: instead
        // self.tokens.push(token);
        // // The whole text, again.
        // let all: Vec<Projected> = self.tokens.iter().map(|token| project(*token)).collect();
        // let query = &all[all.len() - 1].query;
        // let keys: Vec<&[f32]> = all.iter().map(|one| &one.key[..]).collect();
        // let values: Vec<&[f32]> = all.iter().map(|one| &one.value[..]).collect();
        // attend(query, &keys, &values)
        // EXERCISE: end
    }
}

/// The mean of the values, weighted by the softmax of the scores.
fn attend(query: &[f32], keys: &[&[f32]], values: &[&[f32]]) -> Vec<f32> {
    let scale = 1.0 / (query.len() as f32).sqrt();
    let score = |key: &&[f32]| scale * query.iter().zip(*key).map(|(q, k)| q * k).sum::<f32>();
    let scores: Vec<f32> = keys.iter().map(score).collect();
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = scores.iter().map(|score| (score - highest).exp()).collect();
    let sum: f32 = weights.iter().sum();
    let mut mean = vec![0.0; query.len()];
    for (value, weight) in values.iter().zip(weights) {
        mean.iter_mut().zip(*value).for_each(|(mean, value)| *mean += weight / sum * value);
    }
    mean
}
