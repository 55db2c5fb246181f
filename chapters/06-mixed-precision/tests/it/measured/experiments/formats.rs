use mixed_precision::{
    formats::Format,
    measured::experiments::formats::{dot_error, turning_points},
};

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
