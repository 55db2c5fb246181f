//! What the page's calculator is given: the table, the readers' jobs and the efficiencies, as JSON inside its script.

use crate::{
    Market, Reader, Result,
    calculator::{DRAW, ELECTRICITY, LAUNCH, PARALLEL, Range, Shares},
};
use serde_json::{Value, json};

/// The data of the page's calculator.
///
/// # Errors
/// As [`Market::load`].
pub fn data() -> Result<Value> {
    let market = Market::load()?;
    let ends = |range: Range| json!([range.low, range.high]);
    let mut cards = Vec::new();
    for card in &market.cards {
        let Some((format, peak)) = card.training() else { continue };
        let shares = Shares::of(&market, card)?;
        let prices = market.prices(&card.id);
        cards.push(json!({
            "id": card.id,
            "name": card.name,
            "format": format,
            "bytes": format.bytes(),
            "peak": peak,
            "bandwidth": card.bandwidth.value,
            "memory": card.memory.value,
            "power": card.power.as_ref().map(|f| f.value),
            "price": card.price.as_ref().map(|f| f.value),
            "rent": prices.first().zip(prices.last()).map(|(low, high)| json!([low, high])),
            "compute": ends(shares.compute),
            "copy": ends(shares.memory),
        }));
    }
    let mut jobs = Vec::new();
    for reader in Reader::ALL {
        jobs.push(
            json!({ "reader": reader.name(), "cards": reader.cards(), "job": reader.job()? }),
        );
    }
    let dates = market.price_dates();
    Ok(json!({
        "cards": cards,
        "jobs": jobs,
        "launch": ends(LAUNCH),
        "parallel": ends(PARALLEL),
        "draw": ends(DRAW),
        "electricity": ELECTRICITY,
        "prices": dates.map(|(oldest, newest)| json!([oldest, newest])),
    }))
}
