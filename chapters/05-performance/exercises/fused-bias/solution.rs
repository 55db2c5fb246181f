//! ReLU's backward pass and the bias' gradient: two passes over the same elements, or one.

/// The derivatives `dy` of a layer's output become those of its sums, in place: zero where the output `y` is not above
/// zero. Returns the bias' derivatives, the sum of each column. `y` and `dy` have rows of `width` numbers; `seen` is
/// called for each number of `dy` that is looked at.
pub fn through_relu(dy: &mut [f32], y: &[f32], width: usize, mut seen: impl FnMut()) -> Vec<f32> {
    let mut db = vec![0.0; width];
    // EXERCISE: begin
    for (dy, y) in dy.chunks_exact_mut(width).zip(y.chunks_exact(width)) {
        for ((dy, y), db) in dy.iter_mut().zip(y).zip(&mut db) {
            seen();
            *dy = if *y > 0.0 { *dy } else { 0.0 };
            *db += *dy;
        }
    }
    // EXERCISE: instead
    // for (dy, y) in dy.iter_mut().zip(y) {
    //     seen();
    //     if *y <= 0.0 {
    //         *dy = 0.0;
    //     }
    // }
    // for j in 0..width {
    //     for row in dy.chunks_exact(width) {
    //         seen();
    //         db[j] += row[j];
    //     }
    // }
    // EXERCISE: end
    db
}
