//! The nucleus of a distribution. Holtzman and others 2020, "The curious case of neural text degeneration", section 3.1.

/// The numbers of the fewest tokens whose probabilities together reach `p`, the likeliest first; of equals, the one with the
/// smaller number. Without enough probability, all tokens.
pub fn nucleus(probabilities: &[f64], p: f64) -> Vec<usize> {
    // EXERCISE: begin
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    // A stable sort leaves equals in the order of their numbers.
    order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
    let mut sum = 0.0;
    let enough = order.iter().position(|token| {
        sum += probabilities[*token];
        sum >= p
    });
    if let Some(last) = enough {
        order.truncate(last + 1);
    }
    order
    // EXERCISE: instead
    // // All tokens, in the order of their numbers.
    // let _ = p;
    // (0..probabilities.len()).collect()
    // EXERCISE: end
}
