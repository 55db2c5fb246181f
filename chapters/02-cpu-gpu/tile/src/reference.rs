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

/// Each row's loss, and the gradient of the logits times `scale`.
pub fn cross_entropy(
    logits: &[f64],
    labels: &[i32],
    columns: usize,
    scale: f64,
) -> (Vec<Near>, Vec<Near>) {
    let (mut losses, mut gradient) = (Vec::new(), Vec::new());
    for (row, label) in logits.chunks(columns).zip(labels) {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = largest + row.iter().map(|z| (z - largest).exp()).sum::<f64>().ln();
        let loss = log_sum - row[*label as usize];
        losses.push(Near { value: loss, within: FUNCTION * (1.0 + loss.abs()) });
        gradient.extend(row.iter().enumerate().map(|(column, z)| {
            let softmax = (z - log_sum).exp();
            let target = f64::from(u8::from(column == *label as usize));
            short((softmax - target) * scale, 2.0 * FUNCTION * softmax * scale.abs())
        }));
    }
    (losses, gradient)
}

/// y = gain·x / √(mean(x²) + ε), and each row's factor.
pub fn rms_norm(x: &[f64], gain: &[f64], epsilon: f64) -> (Vec<Near>, Vec<Near>) {
    let (mut y, mut factors) = (Vec::new(), Vec::new());
    for row in x.chunks(gain.len()) {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        let factor = 1.0 / (mean + epsilon).sqrt();
        factors.push(Near { value: factor, within: FUNCTION * factor });
        let normed = row.iter().zip(gain).map(|(x, gain)| gain * x * factor);
        y.extend(normed.map(|y| short(y, FUNCTION * y.abs())));
    }
    (y, factors)
}

/// The gradients of x and of the gain, for the factors that the forward pass gave.
pub fn rms_norm_backward([x, gain, factors, dy]: [&[f64]; 4]) -> (Vec<Near>, Vec<Near>) {
    let columns = gain.len();
    let (mut dx, mut dgain) = (Vec::new(), vec![Near { value: 0.0, within: 0.0 }; columns]);
    for ((x, dy), factor) in x.chunks(columns).zip(dy.chunks(columns)).zip(factors) {
        let normed: Vec<f64> = x.iter().map(|x| x * factor).collect();
        let upstream: Vec<f64> = dy.iter().zip(gain).map(|(dy, gain)| dy * gain).collect();
        let along = upstream.iter().zip(&normed).map(|(u, n)| u * n);
        let mean = along.clone().sum::<f64>() / columns as f64;
        let size = along.map(f64::abs).sum::<f64>() / columns as f64;
        for column in 0..columns {
            let (u, n) = (upstream[column], normed[column]);
            let off = FUNCTION * factor * (u.abs() + n.abs() * size);
            dx.push(short(factor * (u - n * mean), off));
            dgain[column].value += dy[column] * n;
            dgain[column].within += FUNCTION * (dy[column] * n).abs();
        }
    }
    (dx, dgain)
}

/// Causal attention of `[heads, length, d]`: the output, and the logarithm of each row's sum.
pub fn attention(
    [q, k, v]: [&[f64]; 3],
    [length, d]: [usize; 2],
    scale: f64,
) -> (Vec<Near>, Vec<Near>) {
    let (mut out, mut log_sums) = (Vec::new(), Vec::new());
    for head in 0..q.len() / (length * d) {
        let row = |x: &[f64], i: usize| x[(head * length + i) * d..][..d].to_vec();
        for i in 0..length {
            let scores: Vec<f64> = (0..=i).map(|j| scale * dot(&row(q, i), &row(k, j))).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let log_sum = largest + scores.iter().map(|s| (s - largest).exp()).sum::<f64>().ln();
            log_sums.push(Near { value: log_sum, within: FUNCTION * (1.0 + log_sum.abs()) });
            let softmax: Vec<f64> = scores.iter().map(|s| (s - log_sum).exp()).collect();
            for column in 0..d {
                let terms = softmax.iter().enumerate().map(|(j, p)| p * row(v, j)[column]);
                let size: f64 = terms.clone().map(f64::abs).sum();
                // The powers are rounded to bf16 for the tensor cores, then the output is.
                out.push(short(terms.sum(), SHORT * size));
            }
        }
    }
    (out, log_sums)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Each row's output times its upstream gradient.
pub fn attention_dots(out: &[f64], dout: &[f64], d: usize) -> Vec<Near> {
    let rows = out.chunks(d).zip(dout.chunks(d));
    rows.map(|(out, dout)| sum(out.iter().copied().zip(dout.iter().copied()))).collect()
}

/// The gradients of queries, keys and values, for the logarithms and dots that came before.
pub fn attention_backward(
    [q, k, v, dout]: [&[f64]; 4],
    [log_sums, dots]: [&[f64]; 2],
    [length, d]: [usize; 2],
    scale: f64,
) -> [Vec<Near>; 3] {
    let mut gradients = [(); 3].map(|()| vec![Near { value: 0.0, within: 0.0 }; q.len()]);
    for head in 0..q.len() / (length * d) {
        for i in 0..length {
            let row = head * length + i;
            let (q_row, dout_row) = (&q[row * d..][..d], &dout[row * d..][..d]);
            for j in 0..=i {
                let other = head * length + j;
                let (k_row, v_row) = (&k[other * d..][..d], &v[other * d..][..d]);
                let softmax = (scale * dot(q_row, k_row) - log_sums[row]).exp();
                let dsoftmax = dot(dout_row, v_row);
                let dscore = softmax * (dsoftmax - dots[row]) * scale;
                let size: f64 = dout_row.iter().zip(v_row).map(|(a, b)| (a * b).abs()).sum();
                let off = SHORT * dscore.abs()
                    + FUNCTION * softmax * (size + dots[row].abs()) * scale.abs();
                let mut add = |which: usize, at: usize, a: f64, a_off: f64, b: f64| {
                    gradients[which][at].value += a * b;
                    gradients[which][at].within += a_off * b.abs();
                };
                for column in 0..d {
                    add(0, row * d + column, dscore, off, k_row[column]);
                    add(1, other * d + column, dscore, off, q_row[column]);
                    let softmax_off = (SHORT + FUNCTION) * softmax;
                    add(2, other * d + column, softmax, softmax_off, dout_row[column]);
                }
            }
        }
    }
    gradients.map(|all| all.into_iter().map(|near| short(near.value, near.within)).collect())
}
