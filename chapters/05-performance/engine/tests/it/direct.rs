//! The convolution of one image, on every level of vectors, against its definition in f64.

use crate::{convolve::convolve, steps::error};
use backprop::check::wide;
use engine::ops::direct::Direct;
use lab::random::numbers;
use matmul::simd::Level;
use proptest::prelude::*;

fn dot(a: &[f64], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum()
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A convolution is linear in the image and in the filters: its gradients are what makes both products with the outputs'
/// gradient equal to that of the outputs themselves, whatever the numbers are.
fn check(direct: Direct) -> Result<(), TestCaseError> {
    let Direct { h, w, ci, co, k, pad, .. } = direct;
    let (image, filters) = (numbers(direct.image(), 1), numbers(direct.filters(), 2));
    let (bias, dy) = (numbers(co, 3), numbers(direct.output(), 4));
    let definition = |image: &[f32], filters: &[f32], bias: &[f32]| {
        convolve(&wide(image), [&wide(filters), &wide(bias)], [h, w, ci], [k, pad])
    };

    let (mut bordered, mut y) = (numbers(direct.bordered(), 5), numbers(direct.output(), 6));
    direct.border(&image, &mut bordered);
    direct.forward(&mut y, &bordered, &filters, &bias);
    let wanted: Vec<f32> = definition(&image, &filters, &bias).iter().map(|y| *y as f32).collect();
    prop_assert!(error(&y, &wanted) < 5e-6, "{direct:?}: {}", error(&y, &wanted));

    let begin = numbers(direct.filters(), 7);
    let mut dw = begin.clone();
    direct.filters_backward(&mut dw, &bordered, &dy);
    let (mut turned, mut dx) = (numbers(direct.filters(), 8), numbers(direct.image(), 9));
    direct.turn(&filters, &mut turned);
    direct.images_backward(&mut dx, &dy, &turned);
    let zeros = vec![0.0; co];
    for seed in 10..13 {
        let [other, filter] = [numbers(image.len(), seed), numbers(filters.len(), seed)];
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
