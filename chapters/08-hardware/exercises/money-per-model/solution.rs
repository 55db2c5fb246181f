//! What does a model cost, with the other costs?

/// A rented card.
pub struct Card {
    /// US dollars an hour.
    pub per_hour: f64,
    /// Seconds until the first step.
    pub start: f64,
    /// Seconds for a model.
    pub model: f64,
    /// Seconds of the unit that is billed: 1, 60 or 3600.
    pub unit: f64,
}

/// US dollars for starting a card once and training `times` models on it.
pub fn bill(card: &Card, times: u32) -> f64 {
    // EXERCISE: begin
    let seconds = card.start + card.model * f64::from(times);
    card.per_hour * (seconds / card.unit).ceil() * card.unit / 3600.0
    // EXERCISE: instead
    // let _ = (card.start, card.unit); // as if the machine were there, and billed exactly
    // card.per_hour * card.model * f64::from(times) / 3600.0
    // EXERCISE: end
}

/// The index of the card that costs least for `times` models; the first of them if several do, `None` if there is no
/// card.
pub fn cheapest(cards: &[Card], times: u32) -> Option<usize> {
    // EXERCISE: begin
    let bills = cards.iter().map(|card| bill(card, times)).enumerate();
    bills.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    // EXERCISE: instead
    // // The cheapest hour, whatever the card does in it.
    // let _ = times;
    // let hours = cards.iter().map(|card| card.per_hour).enumerate();
    // hours.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    // EXERCISE: end
}
