//! A number as two numbers of bf16.

use half::bf16;

/// `x` rounded to bf16, as an f32.
pub fn rounded(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}

/// Two numbers of bf16 whose sum is nearly `x`. The second is 0 if the first is not finite.
pub fn split(x: f32) -> [f32; 2] {
    // EXERCISE: begin
    let first = rounded(x);
    let rest = if first.is_finite() { rounded(x - first) } else { 0.0 };
    [first, rest]
    // EXERCISE: instead
    // [rounded(x), 0.0]
    // EXERCISE: end
}

/// The sum of the products of two vectors, of whose numbers only halves are multiplied. Adds up in f32.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    // EXERCISE: begin
    let term = |(a, b): (&f32, &f32)| {
        let ([a1, a2], [b1, b2]) = (split(*a), split(*b));
        a1 * b1 + (a1 * b2 + a2 * b1)
    };
    a.iter().zip(b).map(term).sum()
    // EXERCISE: instead
    // a.iter().zip(b).map(|(a, b)| split(*a)[0] * split(*b)[0]).sum()
    // EXERCISE: end
}
