//! Splits over ranks, and what more cards gain.

use crate::{
    devices::How,
    measured::experiments::{
        count::SIZES,
        devices::{
            APART, CARDS, ERROR, HELD, JOBS, LINKS, LOSSES, PLAN, PLANNED, PREDICTED, RANKS, RATIO,
            SECONDS, SENT, SHARE, STEPS, models, question,
        },
    },
};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData,
    drawing::{Bars, Limits, Lines},
    plot::{Axis, Scale},
    table::Grid,
};
use multi_gpu::plan::search;

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "language_model.devices.share", draw: draw_share },
        Figure { key: "language_model.cards", draw: draw_cards },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "language_model.devices", make: table_bytes },
        Table { key: "language_model.devices.apart", make: table_apart },
        Table { key: "language_model.devices.time", make: table_time },
        Table { key: "language_model.cards.plan", make: table_plan },
    ]
}

/// Every split on more than one rank.
fn splits() -> Vec<(How, usize)> {
    let more = |how| RANKS.into_iter().filter(|ranks| *ranks > 1).map(move |ranks| (how, ranks));
    How::ALL.into_iter().flat_map(more).collect()
}

/// The model that is split.
const SIZE: &str = SIZES[0].0;

fn table_bytes(records: &Records) -> Result<TableData> {
    let at = |key: Key, how: How, ranks: usize| {
        key.at(&[("size", &SIZE), ("how", &how.name()), ("ranks", &ranks)])
    };
    let part = |part: &'static str| {
        move |(how, ranks): &(How, usize)| at(HELD, *how, *ranks).with("part", part)
    };
    let rows = [(How::Data, 1)].into_iter().chain(splits());
    Grid::new(rows)
        .column("split", |(how, ranks)| {
            if *ranks == 1 { "one rank".to_owned() } else { how.name().to_owned() }
        })
        .column("ranks", |(_, ranks)| ranks.to_string())
        .column("sent in a step", |(how, ranks)| at(SENT, *how, *ranks))
        .column("parameters", part("parameters"))
        .column("gradient", part("gradient"))
        .column("AdamW's means", part("moments"))
        .column("activations", part("activations"))
        .column("held in all", part("all"))
        .table(records, format!("Bytes of the model {SIZE}: what the rank that sends most sends in a step, and what the fullest rank holds."))
}

fn table_apart(records: &Records) -> Result<TableData> {
    let at = |key: Key| {
        move |(how, ranks): &(How, usize)| key.at(&[("how", &how.name()), ("ranks", ranks)])
    };
    Grid::new(splits())
        .column("split", |(how, _)| how.name().to_owned())
        .column("ranks", |(_, ranks)| ranks.to_string())
        .column("largest difference of a loss", at(LOSSES))
        .column("parameters apart", at(APART))
        .table(
            records,
            format!(
                "Each split of tiny against one device after {STEPS} steps: relative differences."
            ),
        )
}

fn table_time(records: &Records) -> Result<TableData> {
    let at = |key: Key| {
        move |(how, ranks): &(How, usize)| {
            key.at(&[("size", &SIZE), ("how", &how.name()), ("ranks", ranks)])
        }
    };
    let all = [("size", &SIZE as &dyn std::fmt::Display), ("how", &"threads")];
    let caption = format!(
        "Steps of {SIZE} on {}, each rank a thread. The speed-up is over one device on one core, whose step takes {}; without ranks, all cores in one trainer reach {}.",
        records.machine.in_words(),
        records.text(SECONDS.at(&[("size", &SIZE), ("how", &"one")]))?,
        records.text(RATIO.at(&all))?,
    );
    Grid::new(splits())
        .column("split", |(how, _)| how.name().to_owned())
        .column("ranks", |(_, ranks)| ranks.to_string())
        .column("predicted", at(PREDICTED))
        .column("measured", at(SECONDS))
        .column("off by", at(ERROR))
        .column("speed-up", at(RATIO))
        .table(records, caption)
}

fn draw_share(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    for (link, words) in LINKS {
        for (model, _, _) in models().map_err(lab::Error::from)? {
            let quantity = SHARE.at(&[("model", &model), ("link", &link)]);
            bars.push((format!("{model}, {words}"), quantity));
        }
    }
    let of = |model: &str| records.text(SHARE.at(&[("model", &model), ("link", &"ethernet")]));
    let caption = format!(
        "Communication's part of a data parallel step of two ranks, by latency and bandwidth. Over 10 Gbit/s it is {} of the digit classifier's step and {} of the small model's.",
        of("mlp")?,
        of("small")?,
    );
    let axis = Axis::new("communication's part of the step (%)", Scale::Linear);
    Bars { axis, scale: |share| 100.0 * share, bars, limits: Limits::None }.draw(records, caption)
}

fn draw_cards(records: &Records) -> Result<Drawing> {
    let of = |model: &str| records.text(CARDS.at(&[("model", &model), ("cards", &PLANNED)]));
    let caption = format!(
        "Simulated data parallel steps on H200, over one card's: {PLANNED} of them take GPT-2 to {}, the small model to {} with 16 sequences and to {} with 512, and the digit classifier to {}.",
        of("gpt-2")?,
        of("small")?,
        of("small-512")?,
        of("mlp")?,
    );
    Lines {
        over: "cards",
        x: Axis::new("H200", Scale::Log),
        y: Axis::new("speed-up over one", Scale::Log),
        lines: JOBS
            .map(|(model, words, _, _)| (words.to_owned(), CARDS.at(&[("model", &model)])))
            .into(),
        ..Lines::default()
    }
    .draw(records, caption)
}

fn table_plan(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (model, words, name, batch) in JOBS {
        let question = question(name, batch).map_err(lab::Error::from)?;
        let plan = search::best(&question).map_err(lab::Error::from)?;
        rows.push((model, words, plan.best));
    }
    let waits = |share: f64| lab::Unit::Share.format(share);
    Grid::new(rows)
        .column("step", |(_, words, _)| (*words).to_owned())
        .column("the planner's split", |(_, _, best)| best.split.to_string())
        .column("cards used", |(_, _, best)| best.split.cards().to_string())
        .column("time", |(model, _, _)| PLAN.at(&[("model", model)]))
        .column("waiting for others", |(_, _, best)| waits(best.terms.communication_share()))
        .table(
            records,
            format!("The fastest split over up to {PLANNED} H200 by chapter 7's planner."),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::experiments::devices::{PARTS, SIMULATED, experiments};
    use lab::{
        Chapter, Part,
        testing::{MadeUp, are_drawn},
    };

    #[test]
    fn figures_and_tables_say_what_they_show() {
        let mut made = MadeUp::default();
        for (how, ranks) in [(How::Data, 1)].into_iter().chain(splits()) {
            let name = how.name();
            let list: lab::record::ParamList =
                &[("size", &SIZE), ("how", &name), ("ranks", &ranks)];
            made.add(SENT.at(list), 4e7).add(SECONDS.at(list), 0.5).add(RATIO.at(list), 1.5);
            made.add(PREDICTED.at(list), 0.4).add(ERROR.at(list), 0.2);
            for part in PARTS {
                made.add(HELD.at(list).with("part", part), 1e8);
            }
            let list: lab::record::ParamList = &[("how", &name), ("ranks", &ranks)];
            made.add(APART.at(list), 1e-6).add(LOSSES.at(list), 1e-7);
        }
        for how in ["one", "threads"] {
            let list: lab::record::ParamList = &[("size", &SIZE), ("how", &how), ("ranks", &1)];
            made.add(SECONDS.at(list), 1.0).add(RATIO.at(list), 1.0);
        }
        for (link, _) in LINKS {
            for (model, _, _) in models().unwrap() {
                made.add(SHARE.at(&[("model", &model), ("link", &link)]), 0.25);
            }
        }
        for (model, _, _, _) in JOBS {
            made.add(PLAN.at(&[("model", &model)]), 1e-3);
            for cards in SIMULATED {
                made.add(CARDS.at(&[("model", &model), ("cards", &cards)]), cards as f64);
            }
        }
        let parts = [Part { experiments: experiments(), ..Part::default() }];
        let records = made.records(&Chapter::of(9, "language_model", "A test", parts));
        are_drawn(&figures(), &tables(), &records);
    }
}
