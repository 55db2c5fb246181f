use backprop::check::{differences, error, wide};
use lab::random::numbers;
use language_model::layers::rms_norm::{EPS, backward, forward};

/// The formula in f64.
fn formula(x: &[f64], scale: &[f64]) -> Vec<f64> {
    let rows = x.chunks_exact(scale.len()).flat_map(|x| {
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let r = 1.0 / (mean + f64::from(EPS)).sqrt();
        x.iter().zip(scale).map(move |(x, w)| x * r * w)
    });
    rows.collect()
}

#[test]
fn forward_and_backward_are_the_formula_and_its_differences() {
    for (rows, width) in [(1, 1), (3, 7), (2, 16), (5, 33)] {
        let [x, dy] = [1, 2].map(|seed| numbers(rows * width, seed));
        let scale = numbers(width, 3);
        let mut y = vec![f32::NAN; rows * width];
        forward(&mut y, &x, &scale);
        let (x64, scale64) = (wide(&x), wide(&scale));
        assert!(error(&wide(&y), &formula(&x64, &scale64)) < 1e-6);

        let loss = |y: Vec<f64>| y.iter().zip(&dy).map(|(y, d)| y * f64::from(*d)).sum::<f64>();
        let (mut dx, mut dscale) = (vec![0.25; rows * width], vec![0.5; width]);
        backward(&mut dx, &mut dscale, &dy, &x, &scale);
        let wanted = differences(&x64, |x| loss(formula(x, &scale64)));
        let found: Vec<f64> = dx.iter().map(|d| f64::from(*d) - 0.25).collect();
        assert!(error(&found, &wanted) < 1e-4, "{rows}×{width}");
        let wanted = differences(&scale64, |scale| loss(formula(&x64, scale)));
        let found: Vec<f64> = dscale.iter().map(|d| f64::from(*d) - 0.5).collect();
        assert!(error(&found, &wanted) < 1e-5, "{rows}×{width}");
    }
}

#[test]
fn a_row_of_zeros_stays_zeros() {
    let (mut y, mut dx, mut dscale) = ([1.0; 3], [0.0; 3], [0.0; 3]);
    forward(&mut y, &[0.0; 3], &[2.0; 3]);
    backward(&mut dx, &mut dscale, &[1.0; 3], &[0.0; 3], &[2.0; 3]);
    assert_eq!((y, dscale), ([0.0; 3], [0.0; 3]));
    assert!(dx.iter().all(|d| d.is_finite()));
}
