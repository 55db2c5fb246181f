//! `SwiGLU`: one half of the hidden units opens or closes the other half: h = silu(gate)·up, with silu(g) = g·σ(g)
//! (Shazeer 2020, "GLU Variants Improve Transformer").
//!
//! With s = σ(g): dup = dh·g·s, and dgate = dh·up·s·(1 + g·(1 − s)).

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use lab::vectors::{exp, wide};

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The rows of `h` ([tokens, hidden]) from those of `gate_up` ([tokens, 2·hidden]).
pub fn forward(h: &mut [f32], gate_up: &[f32], hidden: usize) {
    wide!(|| {
        for (h, row) in h.chunks_exact_mut(hidden).zip(gate_up.chunks_exact(2 * hidden)) {
            // ANCHOR: forward
            let (gate, up) = row.split_at(hidden);
            for ((h, g), u) in h.iter_mut().zip(gate).zip(up) {
                *h = g * sigmoid(*g) * u;
            }
            // ANCHOR_END: forward
        }
    });
}

/// `gate_up` becomes its own derivative, from that of `h`, and `h`, which [`forward`] did not keep, is computed once more:
/// the sigmoid is there anyway, and memory is slower than a multiplication.
pub fn backward(gate_up: &mut [f32], h: &mut [f32], dh: &[f32], hidden: usize) {
    wide!(|| {
        let rows = h.chunks_exact_mut(hidden).zip(dh.chunks_exact(hidden));
        for (row, (h, dh)) in gate_up.chunks_exact_mut(2 * hidden).zip(rows) {
            // ANCHOR: backward
            let (gate, up) = row.split_at_mut(hidden);
            for ((g, u), (h, dh)) in gate.iter_mut().zip(up).zip(h.iter_mut().zip(dh)) {
                let s = sigmoid(*g);
                let silu = *g * s;
                *h = silu * *u;
                *g = dh * *u * (s + silu * (1.0 - s));
                *u = dh * silu;
            }
            // ANCHOR_END: backward
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::check::{differences, error};
    use lab::random::numbers;

    fn formula(gate_up: &[f64], hidden: usize) -> Vec<f64> {
        let rows = gate_up.chunks_exact(2 * hidden).flat_map(|row| {
            let (gate, up) = row.split_at(hidden);
            gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u)
        });
        rows.collect()
    }

    #[test]
    fn forward_and_backward_are_the_formula_and_its_differences() {
        for (rows, hidden) in [(1, 1), (3, 5), (2, 40)] {
            let x: Vec<f32> = numbers(rows * 2 * hidden, 1).iter().map(|x| 4.0 * x).collect();
            let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            let dh = numbers(rows * hidden, 2);
            let mut h = vec![f32::NAN; rows * hidden];
            forward(&mut h, &x, hidden);
            let h64: Vec<f64> = h.iter().map(|h| f64::from(*h)).collect();
            assert!(error(&h64, &formula(&wide, hidden)) < 1e-6);

            let (mut d, mut again) = (x.clone(), vec![f32::NAN; rows * hidden]);
            backward(&mut d, &mut again, &dh, hidden);
            assert_eq!(again, h);
            let wanted = differences(&wide, |x| {
                formula(x, hidden).iter().zip(&dh).map(|(h, d)| h * f64::from(*d)).sum()
            });
            let found: Vec<f64> = d.iter().map(|d| f64::from(*d)).collect();
            assert!(error(&found, &wanted) < 1e-5, "{rows}×{hidden}");
        }
    }

    #[test]
    fn large_gates_are_open_or_shut() {
        let (mut h, mut rows) = ([0.0; 2], [200.0, -200.0, 3.0, 3.0]);
        forward(&mut h, &rows, 2);
        assert!(h[0] == 600.0 && h[1].abs() < 1e-30, "{h:?}");
        backward(&mut rows, &mut h, &[1.0, 1.0], 2);
        let wanted = [3.0, 0.0, 200.0, 0.0];
        assert!(rows.iter().zip(wanted).all(|(d, w)| (d - w).abs() < 1e-30), "{rows:?}");
    }
}
