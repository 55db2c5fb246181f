//! A scaling law with a floor. Hoffmann and others 2022, "Training compute-optimal large language models", section 3.3.

/// ℓ(N) = a + b·N⁻ᶜ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// a: the loss that no model gets below.
    pub floor: f64,
    /// b: what a model of size 1 loses more than that.
    pub factor: f64,
    /// c: from 0.01 to 2.
    pub exponent: f64,
}

impl Law {
    /// The loss that it predicts for a size.
    pub fn at(&self, size: f64) -> f64 {
        self.floor + self.factor * size.powf(-self.exponent)
    }
}

/// The law nearest to these sizes and losses, all above 0: the one with the least sum of squared differences. Its floor and
/// its factor are not below 0. Nothing if there are fewer than three different sizes.
pub fn fit(points: &[(f64, f64)]) -> Option<Law> {
    // EXERCISE: begin
    // A straight line in logarithms.
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, loss)| (n.ln(), loss.ln())).collect();
    let count = logs.len() as f64;
    let x = logs.iter().map(|p| p.0).sum::<f64>() / count;
    let y = logs.iter().map(|p| p.1).sum::<f64>() / count;
    let covariance: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let slope = covariance / logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    let factor = (y - slope * x).exp();
    slope.is_finite().then_some(Law { floor: 0.0, factor, exponent: -slope })
    // EXERCISE: end
}

/// The lowest and the highest loss for `size` that the laws predict which leave one of the points out.
pub fn range(points: &[(f64, f64)], size: f64) -> Option<(f64, f64)> {
    // EXERCISE: begin
    let loss = fit(points)?.at(size);
    Some((loss, loss))
    // EXERCISE: end
}
