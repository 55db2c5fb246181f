//! The same in `f64` and plain loops: for each number what is right, and how far off a kernel may be that adds in f32,
//! in any order, and rounds to bf16 where it says so.

/// A right number, and what a kernel's may differ from it.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// What is right.
    pub value: f64,
    /// The largest difference.
    pub within: f64,
}

/// A bf16 has 8 bits: rounding to the nearest changes a number by at most this times itself.
const SHORT: f64 = 1.0 / 256.0;
/// Of one step in f32.
const STEP: f64 = f32::EPSILON as f64;
/// Of a function such as `exp` in f32, and of sums of some thousand numbers in f32.
const FUNCTION: f64 = 1e-4;

/// A sum of products, whose f32 sum may be off by a step for each of its terms.
fn sum(terms: impl Iterator<Item = (f64, f64)>) -> Near {
    let (mut value, mut size, mut count) = (0.0, 0.0, 0.0);
    for (a, b) in terms {
        value += a * b;
        size += (a * b).abs();
        count += 1.0;
    }
    Near { value, within: count * STEP * size }
}

/// Rounded to bf16 after what it is off by already.
fn short(value: f64, within: f64) -> Near {
    Near { value, within: within + SHORT * value.abs() }
}

/// C = A·B of m×k and k×n; `turned` says of A and of B whether it lies transposed.
pub fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3], turned: [bool; 2]) -> Vec<Near> {
    let a_at = |row, i| if turned[0] { a[i * m + row] } else { a[row * k + i] };
    let b_at = |i, column| if turned[1] { b[column * k + i] } else { b[i * n + column] };
    let at = |at| sum((0..k).map(|i| (a_at(at / n, i), b_at(i, at % n))));
    (0..m * n).map(at).collect()
}

/// The approximation by `tanh`.
pub fn gelu(z: f64) -> f64 {
    0.5 * z * (1.0 + (0.797_884_560_802_865_4 * (z + 0.044715 * z * z * z)).tanh())
}

/// y and the sum before the activation, of y = activation(x·Wᵀ + bias).
pub fn linear(
    [x, w, bias]: [&[f64]; 3],
    sizes: [usize; 3],
    with_gelu: bool,
) -> (Vec<Near>, Vec<Near>) {
    let sums = product(x, w, sizes, [false, true]);
    let layer = sums.iter().enumerate().map(|(at, sum)| {
        let bias = bias[at % sizes[1]];
        let (z, off) = (sum.value + bias, sum.within + 2.0 * STEP * (sum.value.abs() + bias.abs()));
        // GELU's slope is at most 1.13, and a fast `tanh` is off by 2⁻¹¹.
        let y = if with_gelu { gelu(z) } else { z.max(0.0) };
        (short(y, 1.2 * off + z.abs() / 2048.0), short(z, off))
    });
    layer.unzip()
}

/// Causal attention of `[heads, length, d]`: the output, and the logarithm of each row's sum.
pub fn attention(
    [q, k, v]: [&[f64]; 3],
    [length, d]: [usize; 2],
    scale: f64,
) -> (Vec<f64>, Vec<f64>) {
    let (mut out, mut log_sums) = (Vec::new(), Vec::new());
    for query in 0..q.len() / d {
        let keys = query / length * length..=query;
        let score = |key| scale * dot(row(q, query, d), row(k, key, d));
        let scores: Vec<f64> = keys.clone().map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = largest + scores.iter().map(|s| (s - largest).exp()).sum::<f64>().ln();
        log_sums.push(log_sum);
        let softmax: Vec<f64> = scores.iter().map(|s| (s - log_sum).exp()).collect();
        let weighed = |column: usize| {
            let terms = keys.clone().zip(&softmax).map(|(key, p)| p * row(v, key, d)[column]);
            terms.sum::<f64>()
        };
        out.extend((0..d).map(weighed));
    }
    (out, log_sums)
}

fn row(x: &[f64], at: usize, d: usize) -> &[f64] {
    &x[at * d..][..d]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Each row's output times its upstream gradient: what the softmax's gradient subtracts.
pub fn attention_dots(out: &[f64], dout: &[f64], d: usize) -> Vec<f64> {
    out.chunks(d).zip(dout.chunks(d)).map(|(out, dout)| dot(out, dout)).collect()
}

/// The gradient of the queries, for the logarithms and dots that came before.
pub fn attention_dq(
    [q, k, v, dout]: [&[f64]; 4],
    [log_sums, dots]: [&[f64]; 2],
    [length, d]: [usize; 2],
    scale: f64,
) -> Vec<Near> {
    let mut dq = Vec::new();
    for query in 0..q.len() / d {
        let (q_row, dout_row) = (row(q, query, d), row(dout, query, d));
        let mut sums = vec![Near { value: 0.0, within: 0.0 }; d];
        for key in query / length * length..=query {
            let (k_row, v_row) = (row(k, key, d), row(v, key, d));
            let softmax = (scale * dot(q_row, k_row) - log_sums[query]).exp();
            let dscore = softmax * (dot(dout_row, v_row) - dots[query]) * scale;
            let size: f64 = dout_row.iter().zip(v_row).map(|(a, b)| (a * b).abs()).sum();
            let off = SHORT * dscore.abs()
                + FUNCTION * softmax * (size + dots[query].abs()) * scale.abs();
            for (sum, k) in sums.iter_mut().zip(k_row) {
                sum.value += dscore * k;
                sum.within += off * k.abs();
            }
        }
        dq.extend(sums.iter().map(|near| short(near.value, near.within)));
    }
    dq
}
