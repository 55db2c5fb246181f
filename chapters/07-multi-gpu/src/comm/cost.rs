//! What a message costs, and what an all-reduce costs by it: the model of latency and bandwidth.
//!
//! Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20 (1994); the
//! costs of collective operations as in Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).

use cpu_gpu::truck::least_squares;

/// What a message of n bytes costs: α + β·n seconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AlphaBeta {
    /// Latency α, in seconds: what the emptiest message takes.
    pub alpha: f64,
    /// Seconds for each byte, β: one over the bandwidth.
    pub beta: f64,
}

impl AlphaBeta {
    /// Messages that take no time of their own.
    pub const NOTHING: Self = Self { alpha: 0.0, beta: 0.0 };

    /// Seconds for one message of so many bytes.
    pub fn message(self, bytes: f64) -> f64 {
        self.alpha + self.beta * bytes
    }

    /// Rank 0 gets p − 1 messages, one after the other, and sends p − 1.
    pub fn naive(self, bytes: f64, p: usize) -> f64 {
        2.0 * others(p) * self.message(bytes)
    }

    /// 2(p − 1) steps, and each message has a p-th of the numbers.
    pub fn ring(self, bytes: f64, p: usize) -> f64 {
        2.0 * others(p) * self.message(bytes / p.max(1) as f64)
    }

    /// As many rounds as p can be halved, towards the root and back.
    pub fn tree(self, bytes: f64, p: usize) -> f64 {
        2.0 * f64::from(rounds(p)) * self.message(bytes)
    }

    /// Recursive halving and doubling: the rounds of a tree and the bytes of a ring. Where p is no power of two, the
    /// ranks above the last one hand their numbers to a neighbour first and get the sum at the end.
    pub fn halving(self, bytes: f64, p: usize) -> f64 {
        let core = 1_usize << p.max(1).ilog2();
        let share = bytes * (core as f64 - 1.0) / core as f64;
        let within = 2.0 * (f64::from(core.ilog2()) * self.alpha + self.beta * share);
        within + if core == p.max(1) { 0.0 } else { 2.0 * self.message(bytes) }
    }
}

/// How many other ranks there are.
fn others(p: usize) -> f64 {
    p.saturating_sub(1) as f64
}

/// How many rounds a tree over `p` ranks takes: the logarithm to base 2, rounded up.
pub fn rounds(p: usize) -> u32 {
    p.max(1).next_power_of_two().ilog2()
}

/// The α and β that fit measured messages (bytes, seconds) best.
// ANCHOR: fit
pub fn fit(measured: &[(f64, f64)]) -> Option<AlphaBeta> {
    least_squares(measured).map(|[alpha, beta]| AlphaBeta { alpha, beta })
}
// ANCHOR_END: fit

/// How far predictions are from what was measured, relative to it: the median and the largest error.
pub fn errors(pairs: &[(f64, f64)]) -> (f64, f64) {
    let mut errors: Vec<f64> =
        pairs.iter().map(|(predicted, measured)| (predicted - measured).abs() / measured).collect();
    errors.sort_by(f64::total_cmp);
    let median = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
    (median, errors.last().copied().unwrap_or(0.0))
}
