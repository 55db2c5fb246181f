use performance::engine::mask::Mask;

#[test]
fn a_pass_over_many_is_the_same_as_one_after_the_other() {
    let mask = Mask::new(0.3, 9).unwrap();
    for (first, len) in [(0, 0), (0, 1), (0, 64), (1, 2), (3, 17), (6, 5), (8, 33)] {
        let mut y: Vec<f32> = (0..len).map(|i| i as f32 - 3.5).collect();
        let wanted: Vec<f32> = (first..)
            .zip(&y)
            .map(|(i, y)| y * if mask.keeps(i) { mask.scale() } else { 0.0 })
            .collect();
        mask.apply(first, &mut y);
        assert_eq!(y, wanted, "{len} from {first}");
    }
}

#[test]
fn the_share_and_the_mean_are_kept() {
    for share in [0.0, 0.2, 0.5, 0.9] {
        let mut y = vec![1.0_f32; 200_000];
        Mask::new(share, 4).unwrap().apply(0, &mut y);
        let out = y.iter().filter(|y| **y == 0.0).count() as f64 / 2e5;
        let mean = y.iter().map(|y| f64::from(*y)).sum::<f64>() / 2e5;
        assert!((out - share).abs() < 5e-3 && (mean - 1.0).abs() < 0.03, "{share}: {out}, {mean}");
    }
}

#[test]
fn the_four_units_of_a_number_are_independent() {
    // Of pairs of neighbours, a quarter stays together at one half.
    let mask = Mask::new(0.5, 1).unwrap();
    for far in 1..4 {
        let pairs = (0..40_000).filter(|i| mask.keeps(4 * i) && mask.keeps(4 * i + far)).count();
        assert!((pairs as f64 / 40_000.0 - 0.25).abs() < 0.01, "{far}: {pairs}");
    }
}

#[test]
fn impossible_shares_are_refused() {
    for share in [-0.1, 1.0, f64::NAN] {
        assert!(Mask::new(share, 0).is_err(), "{share}");
    }
}
