use backprop::sgd::{Sgd, step};

#[test]
fn with_momentum_steady_gradients_move_ten_times_as_far() {
    // The velocity tends to g / (1 - 0.9).
    let (mut p, mut v) = ([0.0], [0.0]);
    for _ in 0..200 {
        step(&Sgd { lr: 1.0, momentum: 0.9 }, &mut p, &mut v, &[1.0]);
    }
    assert!((v[0] - 10.0_f64).abs() < 1e-6);
    let before = p[0];
    step(&Sgd { lr: 1.0, momentum: 0.9 }, &mut p, &mut v, &[1.0]);
    assert!((before - p[0] - 10.0).abs() < 1e-6);
}
