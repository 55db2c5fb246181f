//! The table of models and precisions.

use crate::measured::experiments::models::{DIFFERENCE, RATE, RATIO, RIGHT};
use lab::{Key, Records, Result, Table, TableData, table::Grid};
use training::{Model, Precision};

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: RATE.name, make: table }]
}

fn table(records: &Records) -> Result<TableData> {
    let of = |key: Key, model: &Model, precision: Precision| {
        key.at(&[("model", model), ("precision", &precision)])
    };
    let mut grid = Grid::new(Model::ALL)
        .column("model", ToString::to_string)
        .column("images a second in f32", move |model| of(RATE, model, Precision::F32))
        .column("accuracy in f32", move |model| of(RIGHT, model, Precision::F32));
    for precision in [Precision::Bf16, Precision::Amp] {
        let name = precision.name();
        grid = grid
            .column(format!("{name}: speed"), move |model| of(RATIO, model, precision))
            .column(format!("{name}: points"), move |model| of(DIFFERENCE, model, precision));
    }
    grid.table(
        records,
        "Training each model by the engine that `train` takes, with the batch of its recipe: images a second in f32 and how \
         many times as many with products in bf16 and f16, and the test accuracy after three epochs of 12,800 images \
         (twelve of the first two models) and by how many percentage points it differs, seed by seed.",
    )
}
