use lab::{key::Quantity, testing};
use mixed_precision::{
    formats::Format,
    measured::experiments::formats::{STALL, SUMS, dot_error, experiments, turning_points},
};

#[test]
fn sums_stall_where_the_rule_says() {
    let mut values = Vec::new();
    for experiment in experiments() {
        values.extend(testing::run(&experiment).values);
    }
    for value in &values {
        assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
    }
    let records = testing::records(&mixed_precision::chapter(), &values, &[]);
    let of = |quantity: Quantity| records.get(quantity).unwrap().median;
    for (name, n) in [("bf16", 100_000), ("f16", 100_000), ("f16-kahan", 10_000_000)] {
        let stall = of(STALL.at(&[("sum", &name)]));
        let sum = of(SUMS.at(&[("sum", &name), ("n", &n)]));
        assert!((sum - stall).abs() < 1e-12, "{name}: {sum}");
    }
}

#[test]
fn a_binades_count_is_recorded_where_it_changes() {
    assert_eq!(turning_points(Format::E5M2), [-16, -15, -14, 15]);
    assert_eq!(turning_points(Format::E4M3), [-9, -8, -7, -6, 8]);
}

#[test]
fn a_dot_product_in_more_digits_is_closer() {
    let error = |name, format| dot_error(name, format, 3001, 4);
    let [bf16, f16, f32] = [Format::BF16, Format::F16, Format::F32].map(|f| error("f", f));
    assert!(bf16 > f16 && f16 > 100.0 * f32, "{bf16:e} {f16:e} {f32:e}");
    let kahan = error("f16-kahan", Format::F16);
    assert!(kahan < 0.5 * f16 && kahan <= 2f64.powi(-10), "{kahan:e}");
    assert!(error("f16-pairs", Format::F16) < f16);
}
