//! Whole commands as a table.

use crate::measured::experiments::command::{AROUND, GOALS, RATIO, RIGHT, SECONDS, contenders};
use backprop::measured::race::OURS;
use lab::{
    Records, Result, Table, TableData,
    table::{Entry, Grid},
};
use training::Settings;

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: SECONDS.name, make: commands }]
}

fn commands(records: &Records) -> Result<TableData> {
    let rows = GOALS.into_iter().flat_map(|(model, goal)| {
        contenders(model).map(move |(who, name)| (model, goal, who, name))
    });
    let caption = format!(
        "Whole commands, from start to end, on {}: medians of three seeds, taking turns. The accuracy is that after the \
         last epoch of the recipe; beside training there are start, data, a test after each epoch, and saving.",
        records.machine.in_words()
    );
    Grid::new(rows)
        .column("model, goal", |(model, goal, ..)| {
            format!("{model} for {} epochs, {:.1}%", Settings::of(*model).epochs, 100.0 * goal)
        })
        .column("program", |(.., name)| (*name).to_owned())
        .column("time", |(model, _, who, _)| SECONDS.at(&[("model", model), ("who", who)]))
        .column("beside training", |(model, _, who, _)| {
            AROUND.at(&[("model", model), ("who", who)])
        })
        .column("accuracy", |(model, _, who, _)| RIGHT.at(&[("model", model), ("who", who)]))
        .column("over train", |(model, _, who, _)| {
            let ratio = RATIO.at(&[("model", model), ("who", who)]);
            if *who == OURS { Entry::from("1×") } else { Entry::from(ratio) }
        })
        .table(records, caption)
}
