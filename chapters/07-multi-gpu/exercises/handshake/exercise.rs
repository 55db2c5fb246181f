//! Ranks that are to train together show their settings.

use std::collections::BTreeMap;

/// One rank's settings: each option's name and value.
pub type Card = BTreeMap<String, String>;

/// The first rank whose settings differ from rank 0's, and the first of its settings (by name) that does:
/// `rank 2 has lr 0.01, and rank 0 has 0.001`. A setting that one side lacks has the value `nothing`. `None` if all are
/// the same.
pub fn refused(cards: &[Card]) -> Option<String> {
    // EXERCISE: begin
    let first = cards.first()?;
    let odd = cards.iter().position(|card| card.len() != first.len())?;
    Some(format!("rank {odd} has {} settings, and rank 0 has {}", cards[odd].len(), first.len()))
    // EXERCISE: end
}
