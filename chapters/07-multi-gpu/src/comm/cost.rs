//! What a message costs, and what an all-reduce costs by it: the model of latency and bandwidth.
//!
//! Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20 (1994); the
//! costs of collective operations as in Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).

/// What a message of n bytes costs: α + β·n seconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AlphaBeta {
    /// Latency α, in seconds: what the emptiest message takes.
    pub alpha: f64,
    /// Seconds for each byte, β: one over the bandwidth.
    pub beta: f64,
}

impl AlphaBeta {
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

/// The α and β that fit measured messages (bytes, seconds) best: the
/// least sum of squared *relative* errors, so that a message of 4
/// bytes counts as much as one of 64 MiB. Neither is below zero.
/// `None` for fewer than two sizes.
// ANCHOR: fit
pub fn fit(measured: &[(f64, f64)]) -> Option<AlphaBeta> {
    // The error relative to t is α·(1/t) + β·(n/t) − 1.
    let (mut aa, mut ab, mut bb, mut a, mut b) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (bytes, seconds) in measured.iter().filter(|(_, t)| *t > 0.0) {
        let (x, y) = (1.0 / seconds, bytes / seconds);
        aa += x * x;
        ab += x * y;
        bb += y * y;
        a += x;
        b += y;
    }
    let determinant = aa * bb - ab * ab;
    if determinant <= 1e-12 * aa * bb {
        return None;
    }
    let alpha = (a * bb - b * ab) / determinant;
    let beta = (b * aa - a * ab) / determinant;
    // On the border of what makes sense, the other one fits alone.
    Some(match (alpha < 0.0, beta < 0.0) {
        (true, _) => AlphaBeta { alpha: 0.0, beta: b / bb },
        (_, true) => AlphaBeta { alpha: a / aa, beta: 0.0 },
        _ => AlphaBeta { alpha, beta },
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINK: AlphaBeta = AlphaBeta { alpha: 2e-6, beta: 1e-10 };

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn formulas_as_on_paper() {
        let (a, b, n) = (LINK.alpha, LINK.beta, 1000.0);
        assert!(near(LINK.naive(n, 4), 6.0 * (a + b * n)));
        assert!(near(LINK.ring(n, 4), 6.0 * (a + b * n / 4.0)));
        assert!(near(LINK.tree(n, 4), 4.0 * (a + b * n)));
        assert!(near(LINK.tree(n, 5), 6.0 * (a + b * n)));
        assert!(near(LINK.halving(n, 4), 4.0 * a + 1.5 * b * n));
        for alone in [0, 1] {
            let all = [LINK.naive(n, alone), LINK.ring(n, alone), LINK.tree(n, alone)];
            assert_eq!((all, LINK.halving(n, alone)), ([0.0; 3], 0.0));
        }
        assert_eq!([1, 2, 3, 4, 5, 8, 9].map(rounds), [0, 1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn small_messages_want_a_tree_and_large_ones_a_ring() {
        assert!(LINK.tree(4.0, 64) < LINK.ring(4.0, 64));
        assert!(LINK.ring(1e9, 64) < LINK.tree(1e9, 64));
        assert!(LINK.halving(4.0, 64) <= LINK.tree(4.0, 64));
    }

    #[test]
    fn nothing_is_fitted_to_too_little() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(8.0, 1.0)]), None);
        assert_eq!(fit(&[(8.0, 1.0), (8.0, 1.1)]), None);
        let falling = fit(&[(1.0, 2.0), (100.0, 1.0)]).unwrap();
        assert!(falling.beta == 0.0 && falling.alpha > 1.0, "{falling:?}");
        let proportional = fit(&[(1.0, 0.5), (10.0, 8.0), (100.0, 100.0)]).unwrap();
        assert!(proportional.alpha == 0.0 && proportional.beta > 0.0, "{proportional:?}");
    }

    proptest! {
        #[test]
        fn a_line_is_found_again(alpha in 1e-7_f64..1e-3, beta in 1e-12_f64..1e-8) {
            let link = AlphaBeta { alpha, beta };
            let sizes = (2..27).map(|log| f64::from(1 << log));
            let measured: Vec<_> = sizes.map(|n| (n, link.message(n))).collect();
            let found = fit(&measured).unwrap();
            prop_assert!((found.alpha / alpha - 1.0).abs() < 1e-6, "{found:?}");
            prop_assert!((found.beta / beta - 1.0).abs() < 1e-6, "{found:?}");
        }
    }
}
