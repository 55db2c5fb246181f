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
    let mut sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let middle = (points.iter().map(|point| point.0.ln()).sum::<f64>() / count).exp();
    // The best line over x = (N / middle)⁻ᶜ, and its squared differences.
    let line = |exponent: f64| {
        let scaled: Vec<(f64, f64)> =
            points.iter().map(|(size, loss)| ((size / middle).powf(-exponent), *loss)).collect();
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            scaled.iter().map(|(x, y)| of(*x, *y)).sum::<f64>() / count
        };
        let (x, y) = (mean(&|x, _| x), mean(&|_, y| y));
        let slope = mean(&|u, v| (u - x) * (v - y)) / mean(&|u, _| (u - x).powi(2));
        let (floor, slope) = match (y - slope * x, slope) {
            (_, slope) if slope < 0.0 => (y, 0.0),
            (floor, _) if floor < 0.0 => (0.0, mean(&|x, y| x * y) / mean(&|x, _| x * x)),
            both => both,
        };
        let off = mean(&|x, y| (floor + slope * x - y).powi(2));
        (off, Law { floor, factor: slope * middle.powf(exponent), exponent })
    };
    let (mut best, mut step) = (line(1.0), 0.01);
    let mut tried: Vec<f64> = (1..=200).map(|i| 0.01 * f64::from(i)).collect();
    for _ in 0..8 {
        for exponent in tried {
            let here = line(exponent.clamp(0.01, 2.0));
            if here.0 < best.0 {
                best = here;
            }
        }
        step /= 10.0;
        tried = (-10..=10).map(|i| best.1.exponent + step * f64::from(i)).collect();
    }
    Some(best.1)
    // EXERCISE: instead
    // // A straight line in logarithms.
    // let logs: Vec<(f64, f64)> = points.iter().map(|(n, loss)| (n.ln(), loss.ln())).collect();
    // let count = logs.len() as f64;
    // let x = logs.iter().map(|p| p.0).sum::<f64>() / count;
    // let y = logs.iter().map(|p| p.1).sum::<f64>() / count;
    // let covariance: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    // let slope = covariance / logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    // let factor = (y - slope * x).exp();
    // slope.is_finite().then_some(Law { floor: 0.0, factor, exponent: -slope })
    // EXERCISE: end
}

/// The lowest and the highest loss for `size` that the laws predict which leave one of the points out.
pub fn range(points: &[(f64, f64)], size: f64) -> Option<(f64, f64)> {
    // EXERCISE: begin
    let mut range: Option<(f64, f64)> = None;
    for left_out in 0..points.len() {
        let others = [&points[..left_out], &points[left_out + 1..]].concat();
        let loss = fit(&others)?.at(size);
        let (low, high) = range.unwrap_or((loss, loss));
        range = Some((low.min(loss), high.max(loss)));
    }
    range
    // EXERCISE: instead
    // let loss = fit(points)?.at(size);
    // Some((loss, loss))
    // EXERCISE: end
}
