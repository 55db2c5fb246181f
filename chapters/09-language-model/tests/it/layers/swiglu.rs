use backprop::check::{differences, error};
use lab::random::numbers;
use language_model::layers::swiglu::{backward, forward};

fn formula(gate_up: &[f64], hidden: usize) -> Vec<f64> {
    let rows = gate_up.chunks_exact(2 * hidden).flat_map(|row| {
        let (gate, up) = row.split_at(hidden);
        gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u)
    });
    rows.collect()
}

#[test]
fn forward_and_backward_are_the_formula_and_its_differences() {
    for (rows, hidden) in [(1, 1), (3, 5), (2, 40)] {
        let x: Vec<f32> = numbers(rows * 2 * hidden, 1).iter().map(|x| 4.0 * x).collect();
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let dh = numbers(rows * hidden, 2);
        let mut h = vec![f32::NAN; rows * hidden];
        forward(&mut h, &x, hidden);
        let h64: Vec<f64> = h.iter().map(|h| f64::from(*h)).collect();
        assert!(error(&h64, &formula(&wide, hidden)) < 1e-6);

        let (mut d, mut again) = (x.clone(), vec![f32::NAN; rows * hidden]);
        backward(&mut d, &mut again, &dh, hidden);
        assert_eq!(again, h);
        let wanted = differences(&wide, |x| {
            formula(x, hidden).iter().zip(&dh).map(|(h, d)| h * f64::from(*d)).sum()
        });
        let found: Vec<f64> = d.iter().map(|d| f64::from(*d)).collect();
        assert!(error(&found, &wanted) < 1e-5, "{rows}×{hidden}");
    }
}

#[test]
fn large_gates_are_open_or_shut() {
    let (mut h, mut rows) = ([0.0; 2], [200.0, -200.0, 3.0, 3.0]);
    forward(&mut h, &rows, 2);
    assert!(h[0] == 600.0 && h[1].abs() < 1e-30, "{h:?}");
    backward(&mut rows, &mut h, &[1.0, 1.0], 2);
    let wanted = [3.0, 0.0, 200.0, 0.0];
    assert!(rows.iter().zip(wanted).all(|(d, w)| (d - w).abs() < 1e-30), "{rows:?}");
}
