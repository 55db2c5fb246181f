use cpu_gpu::verify::{Fault, UNWRITTEN};
use performance::gpu::check::compare;

#[test]
fn what_is_right_passes_and_says_how_close_it_was() {
    assert!(compare(&[], &[], 3, 1e-5).is_ok());
    let share = compare(&[1.0, 2.000_01, 0.0], &[1.0, 2.0, 0.0], 3, 1e-5).unwrap();
    assert!((0.3..0.7).contains(&share), "{share}");
}

#[test]
fn nan_unwritten_wrong_and_missing_elements_do_not() {
    let want = [1.0, 2.0, 3.0, 4.0];
    let with = |at: usize, x: f32| {
        let mut got = [1.0, 2.0, 3.0, 4.0_f32];
        got[at] = x;
        compare(&got, &want, 2, 1e-5).unwrap_err()
    };
    assert!(matches!(with(3, f32::from_bits(UNWRITTEN)), Fault::Unwritten { first: (1, 1), .. }));
    assert!(matches!(with(1, f32::NAN), Fault::NotANumber { count: 1, first: (0, 1) }));
    assert!(matches!(with(0, f32::INFINITY), Fault::NotANumber { .. }));
    assert!(matches!(with(2, 3.001), Fault::Inaccurate { count: 1, first: (1, 0), .. }));
    assert!(compare(&[1.0], &want, 2, 1e-5).is_err());
    assert!(compare(&[1.0; 5], &[1.0; 4], 2, 1e-5).is_err());
    // A reference of NaN proves nothing.
    assert!(compare(&[1.0], &[f64::NAN], 1, 1e-5).is_err());
}
