//! This part's figures and tables, made from one machine's records.

use crate::{
    engine::ladder::{MODELS, ladder},
    measured::experiments::engine::{GAIN, RATE, TOTAL, race::BATCHES},
};
use backprop::ladder::Rung;
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Limits},
    key::Quantity,
    plot::{Axis, Scale},
    record::Value,
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.ladder", draw: |records| draw_ladder(records, 0) },
        Figure { key: "performance.ladder.deep", draw: |records| draw_ladder(records, 1) },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "performance.ladder", make: table_ladder }]
}

/// A quantity of a rung, for one of the networks.
fn of(key: Key, rung: &Rung, model: &str, batch: usize) -> Quantity {
    key.at(&[("model", &model), ("batch", &batch), ("rung", &rung.key)])
}

fn draw_ladder(records: &Records, model: usize) -> Result<Drawing> {
    let ((model, _), batch) = (MODELS[model], BATCHES[0]);
    let rate = |rung: &Rung| of(RATE, rung, model, batch);
    let rungs = ladder();
    let last = rungs.last().map(|rung| records.get(rate(rung))).transpose()?;
    let share = last.and_then(Value::of_limit);
    let caption = format!(
        "{model} in batches of {batch} on {}: the last rung trains on {} as many images a second as stock dfdx, {} of \
         what the step's operations or bytes allow.",
        records.machine.in_words(),
        records.text(TOTAL.at(&[("model", &model), ("batch", &batch)]))?,
        share.map_or_else(|| "an unknown fraction".to_owned(), |s| Unit::Share.format(s)),
    );
    Bars {
        axis: Axis::new("images a second", Scale::Linear),
        bars: rungs.iter().map(|rung| (rung.name.to_owned(), rate(rung))).collect(),
        limits: Limits::OfValues,
        ..Bars::default()
    }
    .draw(records, caption)
}

/// The networks and batches of the part.
fn cases() -> impl Iterator<Item = (&'static str, usize)> {
    MODELS.into_iter().flat_map(|(model, _)| BATCHES.map(|batch| (model, batch)))
}

fn table_ladder(records: &Records) -> Result<TableData> {
    let (model, batch) = (MODELS[0].0, BATCHES[0]);
    let caption = format!(
        "Images a second and the gain over the rung before, on {}. The whole ladder gains {} for {model} in batches of {batch}. \
         Gains are medians over the runs, each compared with its neighbour.",
        records.machine.in_words(),
        records.text(TOTAL.at(&[("model", &model), ("batch", &batch)]))?,
    );
    let mut grid = Grid::new(ladder()).column("rung", |rung| rung.name);
    for (model, batch) in cases() {
        grid = grid
            .column(format!("{model}, batch {batch}"), move |rung| of(RATE, rung, model, batch))
            .column("gain", move |rung| of(GAIN, rung, model, batch));
    }
    grid.table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{record::Limit, testing::MadeUp};

    fn measured() -> Records {
        let mut made = MadeUp::default();
        let bound = Limit { name: "the bound".into(), value: 4e5 };
        for (model, batch) in cases() {
            for (at, rung) in ladder().iter().enumerate() {
                let rate = of(RATE, rung, model, batch).against(bound.clone());
                made.add(rate, 4e4 * (at + 1) as f64);
                if at > 0 {
                    made.add(of(GAIN, rung, model, batch), 1.25);
                }
            }
            made.add(TOTAL.at(&[("model", &model), ("batch", &batch)]), 8.0);
        }
        made.records(&crate::chapter())
    }

    #[test]
    fn captions_say_what_was_measured() {
        let records = measured();
        lab::testing::are_drawn(&figures(), &tables(), &records);
        let ladder = draw_ladder(&records, 0).unwrap();
        assert!(
            ladder.caption.contains("8.00×") && ladder.caption.contains("80.0%"),
            "{}",
            ladder.caption
        );
        assert!(ladder.svg.contains("the bound"));
    }
}
