//! The law that small trainings give, as a figure and a table.

use crate::{
    measured::experiments::learning::{
        ASKED, ERROR, EXPONENT, FACTOR, FITTED, FOUND, PREDICTED, SCALING,
    },
    scaling::PowerLaw,
};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "language_model.scaling", draw: draw_scaling }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "language_model.scaling", make: table_scaling }]
}

fn draw_scaling(records: &Records) -> Result<Drawing> {
    let law = PowerLaw {
        factor: records.get(FACTOR.at(&[]))?.median,
        exponent: records.get(EXPONENT.at(&[]))?.median,
    };
    let mut series = Vec::new();
    let mut sizes = Vec::new();
    for (name, widths) in [("fitted", &FITTED[..]), ("predicted, then run", &[ASKED])] {
        let mut points = Vec::new();
        for width in widths {
            let value = records.get(SCALING.at(&[("width", width)]))?;
            points.push((value.number("parameters").unwrap_or(f64::NAN), value));
        }
        sizes.extend(points.iter().map(|(size, _)| *size));
        series.push(Series { joined: false, ..Series::of(name, &points, |loss| loss) });
    }
    let caption = format!(
        "A law from four sizes is off by {} for a fifth. It says {} bits per byte, and the run found {}.",
        Unit::Share.format(records.get(ERROR.at(&[]))?.median.abs()),
        records.text(PREDICTED.at(&[]))?,
        records.text(FOUND.at(&[]))?
    );
    let line = sizes.iter().map(|size| (*size, law.at(*size))).collect();
    let plot = LinePlot {
        x: Axis::new("parameters", Scale::Log).ticks(sizes),
        y: Axis::new("bits per byte", Scale::Log),
        series,
        limits: vec![LimitLine { name: "the law".to_owned(), points: line }],
    };
    Ok(plot.drawing(caption))
}

fn table_scaling(records: &Records) -> Result<TableData> {
    let number = |width: &usize, name: &str| {
        let value = records.get(SCALING.at(&[("width", width)])).ok();
        let number = value.and_then(|value| value.number(name));
        number.map_or_else(|| "–".to_owned(), |number| Unit::Count.format(number))
    };
    let exponent = records.text(EXPONENT.at(&[]))?;
    let caption = format!(
        "Four sizes, the law's prediction for a fifth, and the run. Its exponent is {exponent}: a size twice as large needs {} \
         of the bits.",
        Unit::Share.format(0.5_f64.powf(records.get(EXPONENT.at(&[]))?.median))
    );
    Grid::new(FITTED.into_iter().chain([ASKED]))
        .column("width", ToString::to_string)
        .column("parameters", |width| number(width, "parameters"))
        .column("tokens", |width| number(width, "tokens"))
        .column("predicted", |width| PREDICTED.at(&[("width", width)]))
        .column("bits per byte", |width| SCALING.at(&[("width", width)]))
        .table(records, caption)
}
