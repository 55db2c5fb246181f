//! A scaling law of one's own: how the loss falls with the size of a model, fitted on sizes that are cheap, to predict one
//! that is not.
//!
//! Published laws are of the form L = a + b·N⁻ᶜ, where a is what no model gets below (Hoffmann et al. 2022, "Training
//! Compute-Optimal Large Language Models", section 3.3). This one has no a: L = b·N⁻ᶜ, the form of
//! Kaplan et al. 2020 ("Scaling Laws for Neural Language Models", section 1.2). Four losses that are far above the floor, of sizes within one
//! power of ten, say little about a third number: a small error of one of them would move a and c by much, and the
//! prediction with them. The price is known, too. The true curve bends towards its floor and the fitted one does not, so a
//! prediction far beyond the fitted sizes is too good.

/// L = b·N⁻ᶜ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// b: the loss at size 1, far outside of what was measured.
    pub factor: f64,
    /// c: each doubling of the size multiplies the loss by 2⁻ᶜ.
    pub exponent: f64,
}

impl PowerLaw {
    /// The law for these sizes and losses: log L is a straight line over log N, and least squares find it. Nothing if there
    /// are no two different sizes, or one of the numbers is not above zero.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let logs: Vec<(f64, f64)> = points.iter().map(|(n, loss)| (n.ln(), loss.ln())).collect();
        let mean =
            |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
        let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
        let covariance = mean(&|p| (p.0 - x) * (p.1 - y));
        let variance = mean(&|p| (p.0 - x) * (p.0 - x));
        let slope = covariance / variance;
        let factor = (y - slope * x).exp();
        (slope.is_finite() && factor.is_finite()).then_some(Self { factor, exponent: -slope })
    }

    /// The loss that it predicts for a size.
    pub fn at(&self, size: f64) -> f64 {
        self.factor * size.powf(-self.exponent)
    }
}
