use backprop::random::SplitMix64;
use half::bf16;
use mixed_precision::bf16::error::{Sum, one_rounding};

#[test]
fn one_number_is_off_as_derived() {
    let mut random = SplitMix64::new(1);
    let (mut apart, mut size) = (0.0, 0.0);
    for _ in 0..200_000 {
        let x = random.unit() as f32;
        apart += f64::from(bf16::from_f32(x).to_f32() - x).powi(2);
        size += f64::from(x).powi(2);
    }
    let ratio = (apart / size).sqrt() / one_rounding();
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn sums_are_off_as_predicted() {
    for sum in Sum::ALL {
        for k in [1, 16, 256] {
            let (found, wanted) = (sum.measured(k, 4000, 2), sum.predicted(k as f64));
            // Uniform numbers for the partial sums are a guess: these are nearly normal.
            let bound = if sum == Sum::Narrow { 0.2 } else { 0.08 };
            assert!((found / wanted - 1.0).abs() < bound, "{sum:?} {k}: {found} {wanted}");
        }
    }
}
