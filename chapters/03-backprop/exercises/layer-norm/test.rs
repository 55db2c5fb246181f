//! The test of the exercise `layer-norm`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use backprop::{check, real::Real};
use exercise::{Gradients, backward, forward};
use lab::{check::near, random::SplitMix64};

const EPSILON: f64 = 1e-5;

/// A layer with its input, and a gradient that comes from above.
struct Case {
    what: String,
    x: Vec<f64>,
    gain: Vec<f64>,
    bias: Vec<f64>,
    dy: Vec<f64>,
}

impl Case {
    /// Random numbers, all of them f32's, for `x` around `centre`.
    fn random(rows: usize, width: usize, centre: f64, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut numbers = |len: usize, centre: f64| -> Vec<f64> {
            (0..len).map(|_| f64::from((centre + random.normal()) as f32)).collect()
        };
        Self {
            what: format!("{rows} rows of {width}, around {centre}"),
            x: numbers(rows * width, centre),
            gain: numbers(width, 1.0),
            bias: numbers(width, 0.0),
            dy: numbers(rows * width, 0.0),
        }
    }

    /// Rows in which all numbers are the same.
    fn constant(rows: usize, width: usize, seed: u64) -> Self {
        let mut case = Self::random(rows, width, 0.0, seed);
        case.what = format!("{rows} constant rows of {width}");
        for (row, x) in case.x.chunks_exact_mut(width).enumerate() {
            x.fill(row as f64 - 0.75);
        }
        case
    }

    /// Σ dy·y: a loss whose derivative with respect to y is dy.
    fn loss(&self, x: &[f64], gain: &[f64], bias: &[f64]) -> f64 {
        let (y, _) = forward(x, gain, bias, EPSILON);
        y.iter().zip(&self.dy).map(|(y, dy)| y * dy).sum()
    }

    /// The reader's gradients of input, gain and bias, in either format.
    fn found<T: Real>(&self) -> [Vec<f64>; 3] {
        let [x, gain, bias, dy] = [&self.x, &self.gain, &self.bias, &self.dy]
            .map(|values| values.iter().map(|value| T::of(*value)).collect::<Vec<T>>());
        let epsilon = T::of(EPSILON);
        let (_, moments) = forward(&x, &gain, &bias, epsilon);
        let Gradients { input, gain, bias } = backward(&x, &gain, epsilon, &moments, &dy);
        [input, gain, bias].map(|values| values.into_iter().map(T::wide).collect())
    }

    /// Two-sided differences in f64. The step is short against √ε, where a constant row bends.
    fn differences(&self) -> [Vec<f64>; 3] {
        let Self { x, gain, bias, .. } = self;
        [
            check::differences_by(1e-6, x, |x| self.loss(x, gain, bias)),
            check::differences_by(1e-6, gain, |gain| self.loss(x, gain, bias)),
            check::differences_by(1e-6, bias, |bias| self.loss(x, gain, bias)),
        ]
    }

    /// That two gradients agree.
    #[track_caller]
    fn agree(&self, found: &[Vec<f64>; 3], wanted: &[Vec<f64>; 3], within: f64, of: &str) {
        for (at, what) in ["input", "gain", "bias"].into_iter().enumerate() {
            let error = check::error(&found[at], &wanted[at]);
            let what = format!("{}: the gradient of the {what} is off by {error:.1e}", self.what);
            assert!(error < within, "{what} from {of}; {within:.0e} is allowed");
        }
    }

    #[track_caller]
    fn agrees_with_differences(&self) {
        self.agree(&self.found::<f64>(), &self.differences(), 1e-6, "the differences");
    }

    #[track_caller]
    fn agrees_in_f32(&self, within: f64) {
        self.agree(&self.found::<f32>(), &self.found::<f64>(), within, "those in f64");
    }
}

fn cases() -> Vec<Case> {
    let shapes = [(1, 3), (1, 7), (3, 5), (4, 4), (5, 33), (2, 100)];
    let seeded = (1..).zip(shapes);
    seeded.map(|(seed, (rows, width))| Case::random(rows, width, 0.3, seed)).collect()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    cases().iter().for_each(Case::agrees_with_differences);
}

#[test]
fn f32_agrees_with_f64() {
    for case in cases() {
        case.agrees_in_f32(1e-5);
    }
}

#[test]
fn rows_of_one_number_move_nothing() {
    let case = Case::random(3, 1, 0.3, 8);
    case.agrees_with_differences();
    let what = "the output does not depend on the input: its gradient";
    near(&case.found::<f32>()[0], [0.0; 3], 1e-6, what);
}

#[test]
fn constant_rows_divide_by_epsilon_and_not_by_zero() {
    for case in [Case::constant(1, 6, 9), Case::constant(3, 17, 10)] {
        case.agrees_with_differences();
        case.agrees_in_f32(1e-5);
    }
}

#[test]
fn a_mean_far_from_zero_costs_few_digits() {
    let case = Case::random(2, 64, 100.0, 11);
    case.agrees_in_f32(1e-3);
    case.agrees_with_differences();
}

#[test]
fn without_rows_there_is_nothing_to_learn() {
    let [input, gain, bias] = Case::random(0, 3, 0.0, 12).found::<f64>();
    assert!(input.is_empty(), "no rows, and {} derivatives of the input", input.len());
    assert!(gain.iter().chain(&bias).all(|d| *d == 0.0), "no rows: {gain:?}, {bias:?}");
}
