//! When should a model answer?

/// The answer to an image: its probability, and whether it is right.
pub type Answer = (f64, bool);

/// The threshold with which the most images are answered while at least the fraction `wanted` of these answers is
/// right, and how many these are. An image is answered if its probability is at least the threshold.
pub fn threshold(answers: &[Answer], wanted: f64) -> Option<(f64, usize)> {
    let mut sorted = answers.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    // EXERCISE: begin
    let (mut right, mut best) = (0, None);
    for (at, answer) in sorted.iter().enumerate() {
        right += usize::from(answer.1);
        let count = at + 1;
        let last = sorted.get(count).is_none_or(|next| next.0 < answer.0);
        if last && right as f64 >= wanted * count as f64 {
            best = Some((answer.0, count));
        }
    }
    best
    // EXERCISE: instead
    // // As if a probability said how often the answer is right.
    // let count = sorted.iter().take_while(|answer| answer.0 >= wanted).count();
    // (count > 0).then_some((wanted, count))
    // EXERCISE: end
}
