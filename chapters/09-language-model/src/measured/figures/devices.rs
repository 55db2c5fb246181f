//! The planner's splits, as a table.

use crate::measured::experiments::devices::{JOBS, PLAN, PLANNED, question};
use lab::{Records, Result, Table, TableData, table::Grid};
use multi_gpu::plan::search;

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "language_model.cards.plan", make: table_plan }]
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
