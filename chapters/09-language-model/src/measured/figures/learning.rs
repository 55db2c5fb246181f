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
        "A law from four sizes says {} bits per byte for a fifth. The run found {}: the prediction was off by {}.",
        records.text(PREDICTED.at(&[]))?,
        records.text(FOUND.at(&[]))?,
        Unit::Share.format(records.get(ERROR.at(&[]))?.median.abs())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::experiments::learning::experiments;
    use lab::{
        Chapter, Part,
        testing::{MadeUp, are_drawn},
    };

    #[test]
    fn every_figure_and_table_is_made_from_records() {
        let mut made = MadeUp::default();
        let law = PowerLaw { factor: 20.0, exponent: 0.18 };
        made.add(FACTOR.at(&[]), law.factor).add(EXPONENT.at(&[]), law.exponent);
        for (width, size) in FITTED.into_iter().chain([ASKED]).zip([26e3, 43e3, 80e3, 139e3, 270e3])
        {
            let list: lab::record::ParamList = &[("width", &width), ("parameters", &size)];
            made.add(SCALING.at(list).with("tokens", 20.0 * size), law.at(size));
        }
        let list: lab::record::ParamList = &[("width", &ASKED), ("parameters", &270_000)];
        made.add(PREDICTED.at(list), law.at(270e3)).add(FOUND.at(list), 1.02 * law.at(270e3));
        made.add(ERROR.at(&[("width", &ASKED)]), -0.02);
        let part = Part { experiments: experiments(), ..Part::default() };
        let records = made.records(&Chapter::of(9, "language_model", "A test", [part]));
        are_drawn(&figures(), &tables(), &records);
        assert!(draw_scaling(&records).unwrap().caption.contains("off by 2.00%"));
        assert_eq!(table_scaling(&records).unwrap().rows[4][..3], ["96", "270,000", "5,400,000"]);
    }
}
