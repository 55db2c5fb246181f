//! This part's figures and tables, made from one machine's records.

use crate::{
    engine::ladder::{MODELS, ladder},
    measured::experiments::engine::{
        GAIN, RATE, THREADS, TOTAL, models,
        products::{self, CONTENDERS, PASSES},
        race::{BATCHES, KEYS, RACERS},
    },
};
use backprop::ladder::Rung;
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Limits, Lines},
    key::Quantity,
    plot::{Axis, Scale},
    record::Value,
    table::{Entry, Grid},
};
use training::Model;

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.ladder", draw: |records| draw_ladder(records, 0) },
        Figure { key: "performance.ladder.deep", draw: |records| draw_ladder(records, 1) },
        Figure { key: "performance.race", draw: |records| draw_race(records, 0) },
        Figure { key: "performance.race.deep", draw: |records| draw_race(records, 1) },
        Figure { key: "performance.threads", draw: draw_threads },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "performance.ladder", make: table_ladder },
        Table { key: "performance.products", make: table_products },
        Table { key: "performance.race", make: table_race },
        Table { key: "performance.models", make: table_models },
    ]
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

fn draw_race(records: &Records, model: usize) -> Result<Drawing> {
    let (model, _) = MODELS[model];
    let of = |key: Key, batch: usize, who: &str| {
        key.at(&[("model", &model), ("batch", &batch), ("who", &who)])
    };
    let ratio = |batch: usize, who: &str| {
        let found = records.text(of(KEYS.ratio, batch, who));
        found.unwrap_or_else(|_| "not measured".to_owned())
    };
    let caption = format!(
        "{model} on {}. PyTorch with its fused Adam takes {} as long for an epoch as this chapter in batches of {}, and \
         {} in batches of {}; stock dfdx takes {} and {}.",
        records.machine.in_words(),
        ratio(BATCHES[0], "pytorch-fused"),
        BATCHES[0],
        ratio(BATCHES[1], "pytorch-fused"),
        BATCHES[1],
        ratio(BATCHES[0], "stock"),
        ratio(BATCHES[1], "stock"),
    );
    let bars = BATCHES.into_iter().flat_map(|batch| {
        RACERS.map(|(who, name)| (format!("{name}, batch {batch}"), of(KEYS.rate, batch, who)))
    });
    Bars {
        axis: Axis::new("images a second", Scale::Linear),
        bars: bars.collect(),
        ..Bars::default()
    }
    .draw(records, caption)
}

fn draw_threads(records: &Records) -> Result<Drawing> {
    let of = |way: &str| THREADS.at(&[("threads", &way)]);
    let (one, all) = (records.over("batch", of("one"))?, records.over("batch", of("all"))?);
    let gain = |at: Option<usize>| {
        let (one, all) = (at.and_then(|at| one.get(at)), at.and_then(|at| all.get(at)));
        let (Some((batch, one)), Some((_, all))) = (one, all) else { return Default::default() };
        (*batch, Unit::Ratio.format(all.median / one.median))
    };
    let ((smallest, first), (largest, last)) = (gain(Some(0)), gain(one.len().checked_sub(1)));
    let caption = format!(
        "784-128-10 on {}. All threads everywhere are {first} as fast as one thread in batches of {smallest}, and {last} in \
         batches of {largest}.",
        records.machine.in_words(),
    );
    let names = [("one", "one thread"), ("products", "all in products"), ("all", "all everywhere")];
    Lines {
        over: "batch",
        x: Axis::new("images in a batch", Scale::Log),
        y: Axis::new("images a second", Scale::Linear),
        lines: names.map(|(way, name)| (name.to_owned(), of(way))).into(),
        ..Lines::default()
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

fn table_products(records: &Records) -> Result<TableData> {
    let of = |who: &str, pass: &str, batch: usize| {
        let quantity = products::RATE.at(&[("who", &who), ("pass", &pass), ("batch", &batch)]);
        records.get(quantity)
    };
    let mut rows = Vec::new();
    let mut best = (0.0, "");
    for (pass, shape) in PASSES {
        for batch in BATCHES {
            let shape = shape(batch);
            let mut row = vec![format!("{pass}, {}×{}×{}", shape.m, shape.k, shape.n)];
            for (who, name) in CONTENDERS {
                let value = of(who, pass, batch)?;
                if value.median > best.0 {
                    best = (value.median, name);
                }
                let share = value.of_limit().map(|share| Unit::Share.format(share));
                row.push(format!("{} ({})", value.text(), share.unwrap_or_default()));
            }
            rows.push(row);
        }
    }
    Ok(TableData {
        caption: format!(
            "The products of the first layer (m×k×n) on all cores of {}, with their fraction of the peak. The fastest is {} with {}.",
            records.machine.in_words(),
            best.1,
            Unit::FlopsPerSecond.format(best.0)
        ),
        head: std::iter::once("product")
            .chain(CONTENDERS.map(|(_, name)| name))
            .map(String::from)
            .collect(),
        rows,
    })
}

fn table_race(records: &Records) -> Result<TableData> {
    let rows =
        cases().flat_map(|(model, batch)| RACERS.map(|(who, name)| (model, batch, who, name)));
    let of = |key: Key, (model, batch, who, _): &(&str, usize, &str, &str)| {
        key.at(&[("model", model), ("batch", batch), ("who", who)])
    };
    let caption = format!(
        "Seconds of an epoch of 60,000 images, how many times as long as this chapter's, and test accuracy \
         after three epochs: medians of five runs that took turns, on {}. A ratio is the median over the \
         runs, each compared with its neighbour.",
        records.machine.in_words()
    );
    Grid::new(rows)
        .column("who", |(model, batch, _, name)| format!("{model}, batch {batch}: {name}"))
        .column("an epoch", |row| of(KEYS.seconds, row))
        .column("over ours", |row| match row.2 {
            "ours" => Entry::from("1"),
            _ => Entry::from(of(KEYS.ratio, row)),
        })
        .column("test accuracy", |row| of(KEYS.accuracy, row))
        .table(records, caption)
}

fn table_models(records: &Records) -> Result<TableData> {
    let of = |key: Key, (model, batch): &(Model, usize), who: &str| {
        key.at(&[("model", model), ("batch", batch)]).with("who", who)
    };
    let caption = format!(
        "Images a second of each model of chapter 4 by the command, by its plain engine and by PyTorch (eager, fused \
         Adam), and how many times as long as the command PyTorch takes: medians of three runs that took turns, on {}.",
        records.machine.in_words()
    );
    let mut grid = Grid::new(models::cases())
        .column("model", |(model, batch)| format!("{model}, batch {batch}"));
    for (who, name) in models::RACERS {
        grid = grid.column(name, move |case| of(models::KEYS.rate, case, who));
    }
    grid.column("PyTorch over train", |case| of(models::KEYS.ratio, case, "pytorch"))
        .table(records, caption)
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
            for (who, _) in RACERS {
                let numbers = [
                    (KEYS.seconds, 0.5),
                    (KEYS.rate, 1.2e5),
                    (KEYS.accuracy, 0.97),
                    (KEYS.ratio, 2.5),
                ];
                for (key, number) in numbers {
                    let list = key.at(&[("model", &model), ("batch", &batch), ("who", &who)]);
                    made.add(list, number);
                }
            }
        }
        for (model, batch) in models::cases() {
            let of = |key: Key| key.at(&[("model", &model), ("batch", &batch)]);
            for (who, _) in models::RACERS {
                made.add(of(models::KEYS.rate).with("who", who), 9e3);
            }
            made.add(of(models::KEYS.ratio).with("who", "pytorch"), 1.75);
        }
        for (pass, _) in PASSES {
            for batch in BATCHES {
                for (at, (who, _)) in CONTENDERS.iter().enumerate() {
                    let rate = products::RATE.at(&[("who", who), ("pass", &pass)]);
                    let rate = rate.with("batch", batch).against(bound.clone());
                    made.add(rate, 1e5 * (at + 1) as f64);
                }
            }
        }
        for way in ["one", "products", "all"] {
            for batch in [512, 8] {
                let rate = if way == "all" { 2e3 } else { 1e3 } * f64::from(batch);
                made.add(THREADS.at(&[("threads", &way), ("batch", &batch)]), rate);
            }
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
        let race = draw_race(&records, 1).unwrap();
        assert!(race.caption.contains("2.50×"), "{}", race.caption);
        let threads = draw_threads(&records).unwrap();
        assert!(
            threads.caption.contains("2.00× as fast as one thread in batches of 8"),
            "{}",
            threads.caption
        );
        assert!(table_products(&records).unwrap().caption.contains("The fastest is chapter 1"));
    }
}
