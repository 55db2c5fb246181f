#![allow(clippy::float_cmp)] // Whole numbers: nothing rounds.

use backprop::count::Model;
use matmul::Shape;
use mixed_precision::bf16::roofline::{Needs, bytes, products};

#[test]
fn operations_are_those_that_chapter_3_counts() {
    for sizes in [&[784, 128, 10][..], &[784, 2048, 2048, 10], &[5, 3]] {
        let counts = Model::mlp(sizes).unwrap().count().unwrap();
        for batch in [1, 512] {
            let needs = Needs::of(sizes, batch, true);
            let wanted = batch as f64 * (counts.forward + counts.backward);
            assert_eq!(needs.operations, wanted, "{sizes:?}");
            assert_eq!(needs.adam, 28.0 * counts.parameters as f64);
        }
    }
}

#[test]
fn bytes_by_hand() {
    assert_eq!(bytes(Shape::new(2, 3, 5), 2.0), 2.0 * (6.0 + 15.0) + 40.0);
    let [narrow, wide] = [true, false].map(|bf16| Needs::of(&[4, 3, 2], 5, bf16));
    // 5×4·4×3, 4×5·5×3, 5×3·3×2, 3×5·5×2, 5×2·2×3: inputs, and sums.
    let (inputs, sums) = (32 + 35 + 21 + 25 + 16, 15 + 12 + 10 + 6 + 15);
    assert_eq!(narrow.products, f64::from(2 * inputs + 4 * sums));
    assert_eq!(wide.products, f64::from(4 * inputs + 4 * sums));
    assert_eq!((wide.conversion, narrow.conversion), (0.0, 6.0 * 15.0 + 2.0 * 23.0));
    assert_eq!(products(&[4, 3, 2], 5).len(), 5);
}

#[test]
fn time_is_that_of_the_lower_limit() {
    let needs = Needs { operations: 100.0, products: 10.0, adam: 4.0, conversion: 1.0 };
    assert_eq!(needs.intensity(), 10.0);
    assert_eq!(needs.seconds(10.0, 1.0), 15.0);
    assert_eq!(needs.seconds(5.0, 1.0), 25.0);
}
