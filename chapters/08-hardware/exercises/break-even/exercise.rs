//! When is a bought card cheaper than a rented one?

/// Hours of a year.
pub const YEAR: f64 = 8766.0;

/// Hours of use until a card for `price` that draws `watts` has cost as much as one for `rent` an hour, at `per_kwh` for a
/// kilowatt-hour.
pub fn hours(price: f64, rent: f64, watts: f64, per_kwh: f64) -> Option<f64> {
    // EXERCISE: begin
    let _ = (watts, per_kwh); // as if electricity were free
    Some(price / rent)
    // EXERCISE: end
}

/// Years until then, if the card works a `share` of the time and draws `idle` watts in the rest.
pub fn years(
    price: f64,
    rent: f64,
    (watts, idle): (f64, f64),
    per_kwh: f64,
    share: f64,
) -> Option<f64> {
    // EXERCISE: begin
    let _ = (idle, share); // as if it never rested
    hours(price, rent, watts, per_kwh).map(|hours| hours / YEAR)
    // EXERCISE: end
}
