//! Stand-in until `comm::cost` is there.
use serde::{Deserialize, Serialize};
/// α and β.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlphaBeta {
    /// Seconds.
    pub alpha: f64,
    /// Seconds per byte.
    pub beta: f64,
}
impl AlphaBeta {
    /// Ring.
    pub fn ring(self, bytes: f64, p: usize) -> f64 {
        let steps = 2.0 * p.saturating_sub(1) as f64;
        steps * (self.alpha + bytes / p.max(1) as f64 * self.beta)
    }
}
