use half::bf16;
use mixed_precision::bf16::number::Number;

#[test]
fn a_row_of_any_length_is_rounded_as_half_does() {
    for len in [0, 1, 7, 8, 15, 16, 100, 1001] {
        let from: Vec<f32> = (0..len).map(|i| (i as f32 - 50.3).powi(3) / 7.0).collect();
        let mut to = vec![bf16::NAN; len];
        bf16::convert(&from, &mut to);
        assert_eq!(to, from.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>());
    }
    let mut to = [bf16::ZERO; 4];
    bf16::convert(&[f32::NAN, f32::INFINITY, f32::MAX, 1e-40], &mut to);
    assert!(to[0].is_nan() && to[1] == bf16::INFINITY && to[2] == bf16::INFINITY);
    assert_eq!(to[3], bf16::from_f32(1e-40));
}

#[test]
fn an_f32_stays_where_it_is_and_a_bf16_is_a_copy() {
    let (mut values, mut kept) = (vec![1.0_f32], vec![2.0_f32]);
    f32::exchange(&mut values, &mut kept);
    assert_eq!((values[0].value(), kept[0].value()), (2.0, 1.0));
    assert_eq!(f32::operand(&values, &[]), [2.0]);
    let copy = [bf16::from_f32(3.0)];
    assert_eq!(bf16::operand(&values, &copy), copy);
}
