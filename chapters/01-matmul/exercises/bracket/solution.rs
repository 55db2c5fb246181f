//! Three matrices, and two orders to multiply them in.

use matmul::Shape;

/// Operations of A·B·C from the left, (A·B)·C, and from the right, A·(B·C). A is m×k, B is k×l, C is l×n.
pub fn work([m, k, l, n]: [usize; 4]) -> [usize; 2] {
    // EXERCISE: begin
    [2 * m * k * l + 2 * m * l * n, 2 * k * l * n + 2 * m * k * n]
    // EXERCISE: instead
    // // Three lengths each, as if both orders were alike.
    // [2 * m * k * l + 2 * k * l * n; 2]
    // EXERCISE: end
}

/// A·B·C in the order that takes fewer operations, of equals from the left. `multiply` computes one product.
pub fn product(
    [a, b, c]: [&[f32]; 3],
    sizes: [usize; 4],
    multiply: &mut impl FnMut(&[f32], &[f32], Shape) -> Vec<f32>,
) -> Vec<f32> {
    let [m, k, l, n] = sizes;
    // EXERCISE: begin
    let [from_left, from_right] = work(sizes);
    if from_left <= from_right {
        let left = multiply(a, b, Shape::new(m, k, l));
        multiply(&left, c, Shape::new(m, l, n))
    } else {
        let right = multiply(b, c, Shape::new(k, l, n));
        multiply(a, &right, Shape::new(m, k, n))
    }
    // EXERCISE: instead
    // let left = multiply(a, b, Shape::new(m, k, l));
    // multiply(&left, c, Shape::new(m, l, n))
    // EXERCISE: end
}
