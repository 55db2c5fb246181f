//! What was counted, as a figure and tables.

use crate::measured::experiments::count::{
    BATCH, BYTES, CACHE, CONTEXTS, OPERATIONS, PARAMETERS, RULE, SCORES, SHARE, SIZES,
};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData,
    drawing::{Limits, Lines},
    plot::{Axis, Scale},
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "language_model.count.share", draw: draw_share }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "language_model.count", make: table_parameters },
        Table { key: "language_model.count.bytes", make: table_bytes },
        Table { key: "language_model.count.context", make: table_context },
    ]
}

fn draw_share(records: &Records) -> Result<Drawing> {
    let of = |size: &str, context: usize| {
        records.text(SHARE.at(&[("size", &size), ("context", &context)]))
    };
    let caption = format!(
        "Attention's part of a step's operations in the small model: {} with {} tokens of context, {} with {}.",
        of("small", 256)?,
        256,
        of("small", 8192)?,
        "8,192",
    );
    Lines {
        over: "context",
        x: Axis::new("tokens of context", Scale::Log),
        y: Axis::new("attention's part of the operations (%)", Scale::Linear),
        scale: |share| 100.0 * share,
        lines: SIZES.map(|(size, _)| (size.to_owned(), SHARE.at(&[("size", &size)]))).into(),
        limits: Limits::None,
    }
    .draw(records, caption)
}

fn table_parameters(records: &Records) -> Result<TableData> {
    let parts = ["embedding", "attention", "feed-forward", "norms", "all"];
    let mut grid = Grid::new(parts).column("parameters", |part| (*part).to_owned());
    for (size, _) in SIZES {
        grid = grid.column(size, move |part| PARAMETERS.at(&[("size", &size), ("part", part)]));
    }
    grid.table(records, "The parameters of the two models, part by part.")
}

fn table_bytes(records: &Records) -> Result<TableData> {
    let parts = [
        ("parameters", "parameters"),
        ("gradient", "gradient"),
        ("moments", "AdamW's means"),
        ("activations", "kept for the backward pass"),
        ("group", "inside a layer"),
        ("all", "all"),
    ];
    let mut grid = Grid::new(parts).column("bytes of a step", |(_, name)| (*name).to_owned());
    for (size, _) in SIZES {
        grid = grid.column(size, move |(part, _)| BYTES.at(&[("size", &size), ("part", part)]));
    }
    let caption =
        format!("The memory of a training step with {BATCH} sequences of a whole context.");
    grid.table(records, caption)
}

fn table_context(records: &Records) -> Result<TableData> {
    let at =
        |key: lab::Key| move |context: &usize| key.at(&[("size", &"small"), ("context", context)]);
    Grid::new(CONTEXTS)
        .column("context", ToString::to_string)
        .column("operations a token", at(OPERATIONS))
        .column("over 6·N", at(RULE))
        .column("attention's part", at(SHARE))
        .column("all scores, if kept", at(SCORES))
        .column("keys and values of one sequence", at(CACHE))
        .table(records, "The small model by the length of its context.")
}
