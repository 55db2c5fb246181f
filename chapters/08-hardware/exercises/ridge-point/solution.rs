//! Above which intensity is arithmetic the limit?

/// A card, as its datasheet tells it.
pub struct Card {
    /// FLOP/s.
    pub peak: f64,
    /// B/s.
    pub bandwidth: f64,
}

/// Operations per byte above which arithmetic is the limit.
pub fn ridge(card: &Card) -> f64 {
    // EXERCISE: begin
    card.peak / card.bandwidth
    // EXERCISE: instead
    // card.bandwidth / card.peak
    // EXERCISE: end
}

/// The most FLOP/s that a step of so many operations and bytes can reach.
pub fn reached(card: &Card, operations: f64, bytes: f64) -> f64 {
    // EXERCISE: begin
    card.peak.min(card.bandwidth * operations / bytes)
    // EXERCISE: instead
    // let _ = (operations, bytes); // as if no byte had to travel
    // card.peak
    // EXERCISE: end
}

/// The index of the card that takes less time for the step; the first one if both take the same.
pub fn better(cards: &[Card; 2], operations: f64, bytes: f64) -> usize {
    let [first, second] = cards.each_ref().map(|card| reached(card, operations, bytes));
    usize::from(second > first)
}
