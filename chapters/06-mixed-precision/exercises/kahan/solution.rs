//! A sum in f32.

/// The sum of `terms`.
pub fn sum(terms: impl Iterator<Item = f32>) -> f32 {
    // EXERCISE: begin
    let (mut sum, mut lost) = (0.0, 0.0);
    for term in terms {
        let term: f32 = term - lost;
        let next: f32 = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    sum
    // EXERCISE: instead
    // // Loses a little in each addition, and stalls in the end.
    // let mut sum = 0.0;
    // for term in terms {
    //     sum += term;
    // }
    // sum
    // EXERCISE: end
}
