//! The whole transformer in plain loops and f64: nothing is fast, everything can be read. The fast one is held against it,
//! and against its finite differences.

use crate::{Config, Layout, layers::rms_norm::EPS, layers::rotary::BASE};

/// Rows of numbers.
type Rows = Vec<Vec<f64>>;

/// The mean loss of one sequence, in nats a token.
pub fn loss(config: &Config, p: &[f64], tokens: &[u32], targets: &[u32]) -> f64 {
    let scores = scores(config, p, tokens);
    let each = scores.iter().zip(targets).map(|(row, target)| {
        let sum: f64 = row.iter().map(|score| score.exp()).sum();
        sum.ln() - row[*target as usize]
    });
    each.sum::<f64>() / targets.len() as f64
}

/// The scores of each token's successor.
pub fn scores(config: &Config, p: &[f64], tokens: &[u32]) -> Rows {
    pass(config, p, tokens).0
}

/// How much each token takes from those up to its own, which sums to 1: for each layer, each of its heads and each token.
pub fn weights(config: &Config, p: &[f64], tokens: &[u32]) -> Rows {
    pass(config, p, tokens).1
}

/// The scores, and the weights of attention.
fn pass(config: &Config, p: &[f64], tokens: &[u32]) -> (Rows, Rows) {
    let (layout, width) = (Layout::new(config), config.width);
    let table = &p[layout.embedding.clone()];
    let embedded = |t: &u32| table[*t as usize * width..][..width].to_vec();
    let mut x: Rows = tokens.iter().map(embedded).collect();
    let mut all_weights = vec![];
    for block in &layout.blocks {
        // ANCHOR: reference
        let qkv = times(&normed(&x, &p[block.norm1.clone()]), &p[block.qkv.clone()]);
        let (taken, weights) = attended(config, &qkv);
        add(&mut x, times(&taken, &p[block.out.clone()]));
        // ANCHOR_END: reference
        all_weights.extend(weights);
        let gate_up = times(&normed(&x, &p[block.norm2.clone()]), &p[block.gate_up.clone()]);
        // ANCHOR: reference
        let hidden = gate_up.iter().map(|row| {
            let (gate, up) = row.split_at(config.hidden);
            gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect()
        });
        add(&mut x, times(&hidden.collect::<Rows>(), &p[block.down.clone()]));
        // ANCHOR_END: reference
    }
    let x = normed(&x, &p[layout.norm.clone()]);
    let score = |row: &Vec<f64>| table.chunks(width).map(|token| dot(row, token)).collect();
    (x.iter().map(score).collect(), all_weights)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Rows times a matrix [inputs, outputs].
fn times(x: &Rows, w: &[f64]) -> Rows {
    let outputs = w.len() / x[0].len();
    let column = |row: &[f64], j| row.iter().zip(w.chunks(outputs)).map(|(x, w)| x * w[j]).sum();
    x.iter().map(|row| (0..outputs).map(|j| column(row, j)).collect()).collect()
}

fn add(x: &mut Rows, more: Rows) {
    for (x, more) in x.iter_mut().flatten().zip(more.into_iter().flatten()) {
        *x += more;
    }
}

fn normed(x: &Rows, scale: &[f64]) -> Rows {
    let row = |row: &Vec<f64>| {
        let r = 1.0 / (dot(row, row) / row.len() as f64 + f64::from(EPS)).sqrt();
        row.iter().zip(scale).map(|(x, w)| x * r * w).collect()
    };
    x.iter().map(row).collect()
}

/// Turns a head's values to a position.
fn turned(values: &[f64], position: usize) -> Vec<f64> {
    let half = values.len() / 2;
    let mut turned = values.to_vec();
    for i in 0..half {
        let angle = position as f64 * BASE.powf(-(i as f64) / half as f64);
        turned[i] = values[i] * angle.cos() - values[i + half] * angle.sin();
        turned[i + half] = values[i] * angle.sin() + values[i + half] * angle.cos();
    }
    turned
}

/// What each token takes from the others, and the weights by which it does.
fn attended(config: &Config, qkv: &Rows) -> (Rows, Rows) {
    let (width, size) = (config.width, config.head());
    let mut all_weights = vec![];
    let mut out = vec![vec![0.0; width]; qkv.len()];
    for first in (0..width).step_by(size) {
        let part = |row: usize, which: usize| &qkv[row][which * width + first..][..size];
        for (i, out) in out.iter_mut().enumerate() {
            // ANCHOR: attention
            let q = turned(part(i, 0), i);
            let power = |j| (dot(&q, &turned(part(j, 1), j)) / (size as f64).sqrt()).exp();
            let powers: Vec<f64> = (0..=i).map(power).collect();
            let sum: f64 = powers.iter().sum();
            let weights: Vec<f64> = powers.iter().map(|power| power / sum).collect();
            for (j, weight) in weights.iter().enumerate() {
                for (out, v) in out[first..].iter_mut().zip(part(j, 2)) {
                    *out += weight * v;
                }
            }
            // ANCHOR_END: attention
            all_weights.push(weights);
        }
    }
    (out, all_weights)
}
