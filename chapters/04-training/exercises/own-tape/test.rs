//! The test of the exercise `own-tape`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use backprop::check;
use exercise::{Number, Tape};

/// Compares the gradients of a function at a point with its differences.
#[track_caller]
fn holds(at: &[f64], what: &str, f: impl Fn(&mut Tape, &[Number]) -> Number) {
    let record = |at: &[f64]| {
        let mut tape = Tape::default();
        let given: Vec<Number> = at.iter().map(|x| tape.given(*x)).collect();
        let loss = f(&mut tape, &given);
        (tape, given, loss)
    };
    let wanted = check::differences(at, |at| {
        let (tape, _, loss) = record(at);
        tape.value(loss)
    });
    let (tape, given, loss) = record(at);
    let found = tape.gradients(loss, &given);
    let off = check::error(&found, &wanted);
    assert!(off < 1e-6, "{what} at {at:?}: the tape gives {found:?}, the differences {wanted:?}");
}

/// The loss of the scores, whose label is the first class.
fn cross_entropy(tape: &mut Tape, scores: &[Number]) -> Number {
    let mut total = tape.given(0.0);
    for score in scores {
        let weight = tape.exp(*score);
        total = tape.sum(total, weight);
    }
    let (log, minus) = (tape.ln(total), tape.given(-1.0));
    let right = tape.product(minus, scores[0]);
    tape.sum(log, right)
}

/// Each output is the sum of the inputs times a row of weights.
fn dense(tape: &mut Tape, inputs: &[Number], weights: &[Number]) -> Vec<Number> {
    let mut outputs = Vec::new();
    for row in weights.chunks(inputs.len()) {
        let mut sum = tape.given(0.0);
        for (x, w) in inputs.iter().zip(row) {
            let term = tape.product(*x, *w);
            sum = tape.sum(sum, term);
        }
        outputs.push(sum);
    }
    outputs
}

#[test]
fn each_operation_has_its_derivative() {
    holds(&[2.0, -3.0], "x + y", |tape, x| tape.sum(x[0], x[1]));
    holds(&[2.0, -3.0], "x·y", |tape, x| tape.product(x[0], x[1]));
    holds(&[2.0], "ReLU(x)", |tape, x| tape.relu(x[0]));
    holds(&[-2.0], "ReLU(x)", |tape, x| tape.relu(x[0]));
    holds(&[0.7], "exp(x)", |tape, x| tape.exp(x[0]));
    holds(&[0.7], "ln(x)", |tape, x| tape.ln(x[0]));
}

#[test]
fn a_number_that_is_used_twice_has_two_contributions() {
    holds(&[3.0], "x + x", |tape, x| tape.sum(x[0], x[0]));
    holds(&[3.0], "x·x", |tape, x| tape.product(x[0], x[0]));
    holds(&[0.5], "x·exp(x)", |tape, x| {
        let e = tape.exp(x[0]);
        tape.product(x[0], e)
    });
}

#[test]
fn what_the_loss_does_not_depend_on_has_a_derivative_of_0() {
    holds(&[2.0, 5.0], "x + x, and x·y beside it", |tape, x| {
        let loss = tape.sum(x[0], x[0]);
        tape.product(x[0], x[1]);
        loss
    });
}

#[test]
fn the_gradient_of_the_scores_is_probability_minus_truth() {
    let scores = [1.0, -0.5, 2.0, 0.25];
    let mut tape = Tape::default();
    let given = scores.map(|score| tape.given(score));
    let loss = cross_entropy(&mut tape, &given);
    let found = tape.gradients(loss, &given);
    let mut wanted = training::loss::softmax(&scores.map(|score| score as f32));
    wanted[0] -= 1.0;
    assert!(check::error(&found, &wanted) < 1e-6, "{found:?}, and not {wanted:?}");
}

#[test]
fn it_differentiates_a_network_of_two_layers() {
    // Two inputs, three hidden units, two classes: twelve weights.
    let weights = [0.5, -0.3, 0.8, 0.1, -0.6, -0.9, 0.4, -0.7, 0.2, -0.5, 0.3, 0.6];
    holds(&weights, "the loss of a network", |tape, weights| {
        let inputs = [0.9, -0.4].map(|x| tape.given(x));
        let hidden = dense(tape, &inputs, &weights[..6]);
        let active: Vec<Number> = hidden.into_iter().map(|h| tape.relu(h)).collect();
        let scores = dense(tape, &active, &weights[6..]);
        cross_entropy(tape, &scores)
    });
}
