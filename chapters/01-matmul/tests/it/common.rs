//! What the tests have in common: values, and the comparison with the f64 reference.

use matmul::{MatRef, Shape, bf16::bf16, reference};

/// Values between -1 and 1 that depend on the seed alone.
pub fn values(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    (0..len)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32) / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

/// Each value as a bf16.
pub fn halves(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&x| bf16::from_f32(x)).collect()
}

/// Shapes that are odd, tall, thin, empty, single, and larger than a block in each direction.
pub const SHAPES: [Shape; 24] = [
    Shape::new(0, 0, 0),
    Shape::new(0, 3, 4),
    Shape::new(3, 0, 4),
    Shape::new(3, 4, 0),
    Shape::new(1, 1, 1),
    Shape::new(1, 7, 1),
    Shape::new(1, 5, 33),
    Shape::new(33, 5, 1),
    Shape::new(2, 3, 5),
    Shape::new(6, 8, 16),
    Shape::new(7, 9, 17),
    Shape::new(13, 31, 15),
    Shape::new(16, 32, 16),
    Shape::new(17, 33, 31),
    Shape::new(32, 64, 32),
    Shape::new(33, 65, 33),
    Shape::new(31, 784, 10),
    Shape::new(128, 40, 10),
    Shape::new(400, 3, 5),
    Shape::new(5, 3, 400),
    Shape::new(3, 1500, 3),
    Shape::new(64, 513, 96),
    Shape::new(100, 100, 100),
    Shape::new(257, 129, 511),
];

/// Fails unless every element of C is `old` + A·B (then bias and `ReLU`) up to rounding: k·ε times the sum of the
/// terms' magnitudes. A NaN in C fails.
pub fn assert_product(
    c: MatRef<f32>,
    (sums, magnitudes): &Reference,
    k: usize,
    old: Option<&[f32]>,
    bias: Option<&[f32]>,
    relu: bool,
    what: &str,
) {
    for i in 0..c.rows() {
        for j in 0..c.cols() {
            let at = i * c.cols() + j;
            let old = old.map_or(0.0, |old| f64::from(old[at]));
            let bias = bias.map_or(0.0, |bias| f64::from(bias[j]));
            let mut want = old + sums[at] + bias;
            if relu {
                want = want.max(0.0);
            }
            let size = old.abs() + magnitudes[at] + bias.abs();
            let bound = (k + 3) as f64 * f64::from(f32::EPSILON) * size;
            let got = f64::from(*c.at(i, j));
            assert!(
                (got - want).abs() <= bound,
                "{what}: C({i}, {j}) is {got}, not {want} (within {bound:e})"
            );
        }
    }
}

/// A product in f64, and the sums of its terms' magnitudes.
pub type Reference = (Vec<f64>, Vec<f64>);

/// A and B of a shape, and their product in f64.
pub fn case(shape: Shape) -> (Vec<f32>, Vec<f32>, Reference) {
    let (a, b) = (values(shape.m * shape.k, 1), values(shape.k * shape.n, 2));
    let product = reference::multiply(
        MatRef::new(&a, shape.m, shape.k).unwrap(),
        MatRef::new(&b, shape.k, shape.n).unwrap(),
    );
    (a, b, product)
}
