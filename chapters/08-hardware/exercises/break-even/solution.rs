//! When is a bought card cheaper than a rented one?

/// Hours of a year.
pub const YEAR: f64 = 8766.0;

/// Hours of use until a card for `price` that draws `watts` has cost as much as one for `rent` an hour, at `per_kwh` for a
/// kilowatt-hour.
pub fn hours(price: f64, rent: f64, watts: f64, per_kwh: f64) -> Option<f64> {
    // EXERCISE: begin
    let saved = rent - watts / 1000.0 * per_kwh;
    (saved > 0.0).then(|| price / saved)
    // EXERCISE: instead
    // let _ = (watts, per_kwh); // as if electricity were free
    // Some(price / rent)
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
    // A mean hour: the rent of the part in use, and the mean power.
    let mean = share * watts + (1.0 - share) * idle;
    hours(price, share * rent, mean, per_kwh).map(|hours| hours / YEAR)
    // EXERCISE: instead
    // let _ = (idle, share); // as if it never rested
    // hours(price, rent, watts, per_kwh).map(|hours| hours / YEAR)
    // EXERCISE: end
}
