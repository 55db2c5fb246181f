use matmul::sums::{eight_sums, one_sum, row_update};

#[test]
fn sums_agree_where_nothing_rounds() {
    for len in [0, 1, 7, 8, 9, 31, 64] {
        let x: Vec<f32> = (0..len).map(|i| (i % 5) as f32 - 2.0).collect();
        let y: Vec<f32> = (0..len).map(|i| (i % 3) as f32).collect();
        let expected: i32 = (0..len).map(|i| (i % 5 - 2) * (i % 3)).sum();
        assert_eq!(one_sum(&x, &y), expected as f32, "one sum of {len}");
        assert_eq!(eight_sums(&x, &y), expected as f32, "eight sums of {len}");
    }
}

#[test]
fn order_changes_a_rounded_sum() {
    // 1 + 2⁻²⁴ rounds to 1, so the small terms vanish one by one; among themselves they add up.
    let mut x = vec![2f32.powi(-24); 1024];
    x[0] = 1.0;
    let ones = vec![1.0; 1024];
    assert_eq!(one_sum(&x, &ones), 1.0);
    assert!(eight_sums(&x, &ones) > 1.0);
}

#[test]
fn row_update_adds_a_multiple() {
    let mut y = [1.0, 2.0, 3.0];
    row_update(&mut y, 2.0, &[10.0, 20.0, 30.0]);
    assert_eq!(y, [21.0, 42.0, 63.0]);
}
