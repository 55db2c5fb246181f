//! What holds for every step, whatever the threads, ways and interruptions.

use crate::steps::{BATCH, batch, bits, error, gradient, images, models, step_of, step_on};
use engine::{
    cpu::{Loaded, Ways},
    model,
    philox::Dropout,
    program::Numbers,
    record::pieces,
    rule::adam,
    state,
    step::Step,
    tensor::Place,
};
use std::time::Instant;

const NUMBERS: [Numbers; 3] = [Numbers::F32, Numbers::Bf16, Numbers::F16];

#[test]
fn steps_have_the_same_bits_for_any_number_of_threads() {
    for (at, numbers) in (0..models().len()).flat_map(|at| NUMBERS.map(|numbers| (at, numbers))) {
        let after = |threads: usize| {
            let mut step = step_of(models().remove(at), threads);
            step.set_scale(1024.0); // for f16
            (0..5).for_each(|number| step_on(number, numbers, &mut step));
            bits(&step)
        };
        let one = after(1);
        assert!(one == after(2) && one == after(3), "{at}, {numbers:?}");
    }
}

/// What went wrong shows: no operation, and no mask, makes a number of what is none.
#[test]
fn one_image_that_is_not_a_number_reaches_its_scores_and_all_gradients() {
    for fused in [true, false] {
        for model in models() {
            let tensors = model.params.tensors.clone();
            let mut step = Step::new(model, 2, Ways { fused, ..Ways::default() }, 1, adam);
            batch(0, &mut step);
            step.batch(BATCH).0[..784].fill(f32::NAN);
            let scores = step.gradient(BATCH, Numbers::F32);
            assert!(scores[..10].iter().all(|score| score.is_nan()));
            for named in tensors.iter().filter(|named| named.tensor.place == Place::Params) {
                let gradient = step.device.slice(named.tensor.gradient());
                assert!(gradient.iter().any(|g| g.is_nan()), "{}, fused: {fused}", named.name);
            }
        }
    }
}

/// A second is counted once, whatever the number of threads that a call gets.
#[test]
fn the_times_of_calls_add_up_to_the_time_of_the_step() {
    for model in models() {
        let mut step = step_of(model, 3);
        step.device.clock = true;
        batch(0, &mut step);
        let counted = |step: &Step| -> f64 {
            step.passes.values().flat_map(Loaded::profile).map(|(_, seconds)| seconds).sum()
        };
        let part = |_| {
            let (before, start) = (counted(&step), Instant::now());
            step.gradient(BATCH, Numbers::F32);
            (counted(&step) - before) / start.elapsed().as_secs_f64()
        };
        // On a busy machine a moment between two calls may belong to others.
        let parts: Vec<f64> = (0..20).map(part).collect();
        assert!(parts.iter().all(|part| *part < 1.0), "{parts:?}");
        assert!(parts.iter().any(|part| *part > 0.85), "{parts:?}");
    }
}

#[test]
fn no_way_changes_a_gradient() {
    for (at, fast) in models().into_iter().enumerate() {
        let wanted = gradient(&mut step_of(fast, 2), Numbers::F32);
        for number in 0..8 {
            let [fused, planned, unused] = [1, 2, 4].map(|bit| number & bit != 0);
            let model = models().remove(at);
            let mut step = Step::new(model, 2, Ways { fused, planned, unused }, 1, adam);
            let found = gradient(&mut step, Numbers::F32);
            assert!(error(&found, &wanted) < 1e-6, "{}", error(&found, &wanted));
        }
    }
}

/// The gradient of a batch in pieces of at most so many images, and its sums.
fn in_pieces(step: &mut Step, most: usize) -> (Vec<f32>, [f32; 2]) {
    let (mut sums, (images, labels)) = ([0.0; 2], images(0));
    for piece in pieces(BATCH, most) {
        let own = &images[784 * piece.start..784 * piece.end];
        step.fill(piece.len(), own, &labels[piece.clone()]);
        let pass = step.piece(piece, BATCH, Numbers::F32);
        let [loss, right] = step.sums(pass);
        sums = [sums[0] + loss, sums[1] + right];
    }
    (step.all(Place::Gradient).to_vec(), sums)
}

/// With the same masks, too. Only a batch normalisation sees that a piece is a smaller batch.
#[test]
fn pieces_add_up_to_the_batch() {
    for (at, model) in models().into_iter().enumerate() {
        let alone = model.params.kept.is_empty();
        let mut step = step_of(model, 2);
        let wanted = gradient(&mut step, Numbers::F32);
        let length = wanted.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        let [losses, right] = step.metrics(BATCH, Numbers::F32);
        let norm = f64::from(step.clip(f32::INFINITY)[0]);
        assert!((norm / length - 1.0).abs() < 1e-6, "{at}");
        for most in [1, 7, BATCH - 1, 2 * BATCH] {
            let of = |threads| in_pieces(&mut step_of(models().remove(at), threads), most);
            let (found, sums) = of(2);
            let same =
                (sums[0] / losses - 1.0).abs() < 1e-5 && sums[1].to_bits() == right.to_bits();
            assert!(same || !alone, "{most}: {sums:?}");
            let off = error(&found, &wanted);
            assert!(if alone { off < 1e-6 } else { most >= BATCH || off > 1e-2 }, "{most}: {off}");
            assert!(found == of(1).0, "threads");
        }
    }
}

#[test]
fn segments_that_are_computed_again_change_no_bit() {
    for (at, whole) in models().into_iter().enumerate() {
        let layers = whole.ops.len();
        let after = |model| {
            let mut step = step_of(model, 2);
            (0..2).for_each(|number| step_on(number, Numbers::F32, &mut step));
            bits(&step)
        };
        let wanted = after(whole);
        for segments in [0, 1, 2, 3, layers, layers + 1] {
            let cut = models().remove(at).recomputed(segments);
            assert!(after(cut) == wanted, "{at} in {segments} segments");
        }
    }
}

#[test]
fn rounded_products_are_near_the_exact_ones_and_a_factor_saves_small_derivatives() {
    for (at, exact) in models().into_iter().enumerate() {
        let wanted = gradient(&mut step_of(exact, 2), Numbers::F32);
        for (numbers, scale, least, most) in [
            (Numbers::Bf16, 1.0, 1e-5, 0.05),
            (Numbers::F16, 1024.0, 1e-6, 0.06),
            (Numbers::F16, 1e-6, 0.5, 1.1),
        ] {
            let mut step = step_of(models().remove(at), 2);
            step.set_scale(scale);
            let error = error(&gradient(&mut step, numbers), &wanted);
            assert!(error > least && error < most, "{at}, {numbers:?}, {scale}: {error}");
        }
    }
}

#[test]
fn a_batch_of_one_and_an_odd_one_are_part_of_the_whole() {
    for (model, other) in models().into_iter().zip(models()) {
        let (mut whole, mut part) = (step_of(model, 2), step_of(other, 2));
        batch(0, &mut whole);
        let all = whole.predict(BATCH);
        for rows in [1, 7, 17, BATCH] {
            batch(0, &mut part);
            let scores = part.predict(rows);
            assert!(error(&scores, &all[..rows * 10]) < 1e-5, "{rows}");
        }
    }
    // One that nobody has filled has zeros.
    let scores = step_of(model::linear(3), 1).predict(1000);
    assert!(scores.len() == 10_000 && scores.iter().all(|score| score.is_finite()));
}

/// Chapter 4's checkpoints tell these masks from others by a number: who changes them raises `Settings::masks` there.
#[test]
fn masks_are_those_that_a_run_began_with() {
    let mut state = [0.0; 8];
    (state[state::SEED], state[state::DRAW]) = (f32::from_bits(1), f32::from_bits(2));
    let mut mask = [1.0; 64];
    Dropout::new(0.5, 3).apply(&state, 1000, &mut mask);
    let bits = mask.iter().fold(0_u64, |bits, kept| bits << 1 | u64::from(*kept > 0.0));
    assert_eq!(format!("{bits:016x}"), "d0242db96583a726");
}
