//! What trainings cost.

use crate::measured::experiments::cost::{
    CARD, ELECTRICITY, FRACTION, HOURS, KWH, RENT, Training, trainings,
};
use hardware::calculator::Range;
use lab::{Key, Records, Result, Table, TableData, record::ParamList, table::Grid};

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "language_model.cost", make: table_here },
        Table { key: "language_model.cost.card", make: table_card },
    ]
}

fn range(records: &Records, key: Key, training: &Training, place: &str) -> Result<Range> {
    let end = |side: &str| {
        let list: ParamList = &[("model", &training.name), ("where", &place), ("side", &side)];
        Ok::<_, lab::Error>(records.get(key.at(list))?.median)
    };
    Ok(Range::new(end("low")?, end("high")?))
}

/// A row in words: time, energy, rent, electricity.
fn row(records: &Records, training: &Training, place: &str) -> Result<(String, [String; 4])> {
    let of = |key| range(records, key, training, place);
    let hours = of(HOURS)?;
    let money = |usd: Range| {
        if usd.high < 1.0 {
            format!("{} US cents", usd.times(100.0).text())
        } else {
            format!("{} USD", usd.text())
        }
    };
    let energy = of(KWH)?;
    let energy = if energy.high < 0.1 {
        format!("{} Wh", energy.times(1e3).text())
    } else {
        format!("{} kWh", energy.text())
    };
    let words = [hours.time(), energy, money(of(RENT)?), money(of(ELECTRICITY)?)];
    Ok((training.words.to_owned(), words))
}

fn rows(records: &Records, place: &str, caption: String) -> Result<TableData> {
    let all = trainings();
    let rows = all.iter().map(|training| row(records, training, place));
    let cell = |at: usize| move |(_, words): &(String, [String; 4])| words[at].clone();
    Grid::new(rows.collect::<Result<Vec<_>>>()?)
        .column("model", |(model, _)| model.clone())
        .column("time", cell(0))
        .column("energy", cell(1))
        .column("rent", cell(2))
        .column("electricity", cell(3))
        .table(records, caption)
}

fn table_here(records: &Records) -> Result<TableData> {
    let machine = records.machine.in_words();
    rows(
        records,
        "here",
        format!(
            "The four trainings on {machine}: tiny and small at their measured rates, the others at the operations a second of small."
        ),
    )
}

fn table_card(records: &Records) -> Result<TableData> {
    let end = |side: &str| records.text(FRACTION.at(&[("card", &CARD), ("side", &side)]));
    let caption = format!(
        "The four trainings on one H200, by chapter 8's calculator: at {} to {} of the peak, and no faster than kernels start.",
        end("low")?,
        end("high")?,
    );
    rows(records, CARD, caption)
}
