//! The convolution of one image, on every level of vectors, against its definition in f64.

use crate::{definition::convolve, steps::error};
use engine::ops::direct::Direct;
use matmul::simd::Level;
use proptest::prelude::*;

/// Numbers from -1 to 1.
fn numbers(seed: usize, len: usize) -> Vec<f32> {
    let number = |at: usize| (at + seed).wrapping_mul(2_654_435_761) >> 7 & 0xffff;
    (0..len).map(|at| number(at) as f32 / 32768.0 - 1.0).collect()
}

fn dot(a: &[f64], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum()
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().copied().map(f64::from).collect()
}

/// A convolution is linear in the image and in the filters: its gradients are what makes both products with the outputs'
/// gradient equal to that of the outputs themselves, whatever the numbers are.
fn check(direct: Direct) -> Result<(), TestCaseError> {
    let Direct { h, w, ci, co, k, pad, .. } = direct;
    let (image, filters) = (numbers(1, direct.image()), numbers(2, direct.filters()));
    let (bias, dy) = (numbers(3, co), numbers(4, direct.output()));
    let definition = |image: &[f32], filters: &[f32], bias: &[f32]| {
        convolve(&wide(image), [&wide(filters), &wide(bias)], [h, w, ci], [k, pad])
    };

    let (mut bordered, mut y) = (numbers(5, direct.bordered()), numbers(6, direct.output()));
    direct.border(&image, &mut bordered);
    direct.forward(&mut y, &bordered, &filters, &bias);
    let wanted: Vec<f32> = definition(&image, &filters, &bias).iter().map(|y| *y as f32).collect();
    prop_assert!(error(&y, &wanted) < 5e-6, "{direct:?}: {}", error(&y, &wanted));

    let begin = numbers(7, direct.filters());
    let mut dw = begin.clone();
    direct.filters_backward(&mut dw, &bordered, &dy);
    let (mut turned, mut dx) = (numbers(8, direct.filters()), numbers(9, direct.image()));
    direct.turn(&filters, &mut turned);
    direct.images_backward(&mut dx, &dy, &turned);
    let zeros = vec![0.0; co];
    for seed in 10..13 {
        let [other, filter] = [numbers(seed, image.len()), numbers(seed, filters.len())];
        for (found, wanted) in [
            (
                dot(&wide(&filter), &dw) - dot(&wide(&filter), &begin),
                definition(&image, &filter, &zeros),
            ),
            (dot(&wide(&other), &dx), definition(&other, &filters, &zeros)),
        ] {
            let close =
                (found - dot(&wanted, &dy)).abs() < 5e-6 * length(&wanted) * length(&wide(&dy));
            prop_assert!(close, "{direct:?}: {found}, not {}", dot(&wanted, &dy));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_level_computes_the_definition(
        [h, w] in [1..18_usize, 1..18],
        [ci, co] in [0..8_usize, 1..9],
        [k, pad] in [1..6_usize, 0..5],
    ) {
        let k = k.min(h).min(w);
        for level in Level::ALL {
            let ci = if ci == 0 { 1 } else { 8 * ci };
            check(Direct { h, w, ci, co: 8 * co, k, pad: pad.min(k - 1), level })?;
        }
    }
}

#[test]
fn the_models_layers_are_the_definition_on_every_level() {
    let layers = [
        (28, 1, 16, 5, 2),
        (14, 16, 32, 5, 0),
        (28, 1, 24, 3, 1),
        (14, 24, 24, 3, 1),
        (7, 24, 48, 1, 0),
        (7, 48, 48, 3, 1),
    ];
    for ((side, ci, co, k, pad), level) in
        layers.into_iter().flat_map(|layer| Level::ALL.map(|level| (layer, level)))
    {
        check(Direct { h: side, w: side, ci, co, k, pad, level }).unwrap();
    }
}
