//! The test of the exercise `rms-norm`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{backward, forward};
use lab::random::SplitMix64;

/// Rows, a scale, and a gradient that comes from above.
struct Case {
    x: Vec<f64>,
    scale: Vec<f64>,
    dy: Vec<f64>,
}

impl Case {
    fn new(rows: usize, width: usize, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut numbers = |len: usize| (0..len).map(|_| random.normal()).collect();
        Self { x: numbers(rows * width), scale: numbers(width), dy: numbers(rows * width) }
    }

    /// Σ dy·y: a loss whose derivative with respect to y is dy.
    fn loss(&self, x: &[f64], scale: &[f64]) -> f64 {
        forward(x, scale).iter().zip(&self.dy).map(|(y, dy)| y * dy).sum()
    }

    /// The reader's gradients of input and scale, in buffers that hold `before`.
    fn found(&self, before: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut dx, mut dscale) = (vec![before; self.x.len()], vec![before; self.scale.len()]);
        backward(&mut dx, &mut dscale, &self.dy, &self.x, &self.scale);
        (dx, dscale)
    }

    #[track_caller]
    fn agrees(&self) {
        let (dx, dscale) = self.found(0.0);
        let what = |of: &str| {
            format!("{of}, {} rows of {}", self.x.len() / self.scale.len(), self.scale.len())
        };
        agree(&dx, &differences(&self.x, |x| self.loss(x, &self.scale)), &what("input"));
        agree(&dscale, &differences(&self.scale, |s| self.loss(&self.x, s)), &what("scale"));
    }
}

/// (f(x + h) − f(x − h)) / 2h for each value. The step is short against √ε, where a row of zeros bends.
fn differences(at: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let h = 1e-6;
    let moved = |i: usize, by: f64| {
        let mut at = at.to_vec();
        at[i] += by;
        f(&at)
    };
    (0..at.len()).map(|i| (moved(i, h) - moved(i, -h)) / (2.0 * h)).collect()
}

#[track_caller]
fn agree(found: &[f64], wanted: &[f64], what: &str) {
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let apart: Vec<f64> = found.iter().zip(wanted).map(|(f, w)| f - w).collect();
    let off = length(&apart) / length(wanted).max(1e-3);
    assert!(off < 1e-6, "the gradient of the {what} is off by {off:.1e} from the differences");
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for (seed, (rows, width)) in (1..).zip([(1, 2), (1, 7), (3, 5), (4, 4), (2, 100)]) {
        Case::new(rows, width, seed).agrees();
    }
}

#[test]
fn what_was_there_before_stays() {
    let case = Case::new(3, 6, 9);
    let (plain, added) = (case.found(0.0), case.found(2.5));
    for (a, b) in plain.0.iter().chain(&plain.1).zip(added.0.iter().chain(&added.1)) {
        assert!((a + 2.5 - b).abs() < 1e-12, "the buffers hold what came along other paths: add");
    }
}

#[test]
fn zeros_and_single_values_are_no_exception() {
    for mut case in [Case::new(2, 5, 10), Case::new(3, 1, 11)] {
        if case.scale.len() > 1 {
            case.x.fill(0.0);
        }
        case.agrees();
    }
}
