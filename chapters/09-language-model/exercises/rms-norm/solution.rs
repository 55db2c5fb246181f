//! RMSNorm, forward and backward. Zhang and Sennrich 2019.

/// Keeps the division from exploding where a row is all zeros.
pub const EPSILON: f64 = 1e-5;

/// One over the root mean square of a row.
fn inverse(row: &[f64]) -> f64 {
    let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
    1.0 / (mean + EPSILON).sqrt()
}

/// yᵢ = xᵢ·r·wᵢ for each row of `x`, which are as long as `scale`.
pub fn forward(x: &[f64], scale: &[f64]) -> Vec<f64> {
    let mut y = Vec::with_capacity(x.len());
    for row in x.chunks_exact(scale.len()) {
        let r = inverse(row);
        y.extend(row.iter().zip(scale).map(|(x, w)| x * r * w));
    }
    y
}

/// Adds to `dx` and `dscale` what `dy`, the gradient of the output, contributes to them.
pub fn backward(dx: &mut [f64], dscale: &mut [f64], dy: &[f64], x: &[f64], scale: &[f64]) {
    let width = scale.len();
    let rows = x.chunks_exact(width).zip(dy.chunks_exact(width));
    for (dx, (x, dy)) in dx.chunks_exact_mut(width).zip(rows) {
        let r = inverse(x);
        // EXERCISE: begin
        let mut along = 0.0;
        for i in 0..width {
            dscale[i] += dy[i] * x[i] * r;
            along += scale[i] * dy[i] * x[i];
        }
        let through_r = along * r.powi(3) / width as f64;
        for i in 0..width {
            dx[i] += r * scale[i] * dy[i] - x[i] * through_r;
        }
        // EXERCISE: instead
        // // As if r were a constant. The scale has no gradient yet.
        // let _ = &dscale;
        // for i in 0..width {
        //     dx[i] += r * scale[i] * dy[i];
        // }
        // EXERCISE: end
    }
}
