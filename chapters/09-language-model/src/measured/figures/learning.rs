//! Small trainings as figures and a table.

use crate::{
    measured::experiments::learning::{
        ABLATION, ASKED, CONTEXTS, ERROR, EXPONENT, FACTOR, FITTED, FOUND, GZIP, LEARNING,
        PREDICTED, RATES, SCALING, WIDTHS,
    },
    scaling::PowerLaw,
};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Limits, Lines},
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "language_model.learning", draw: draw_learning },
        Figure { key: "language_model.ablation", draw: draw_ablation },
        Figure { key: "language_model.scaling", draw: draw_scaling },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "language_model.ablation", make: table_ablation },
        Table { key: "language_model.scaling", make: table_scaling },
    ]
}

/// The axis of all of them.
fn bits() -> Axis {
    Axis::new("bits per byte", Scale::Linear)
}

fn draw_learning(records: &Records) -> Result<Drawing> {
    let line = LEARNING.at(&[("size", &"tiny")]);
    let points = records.over("tokens", &line)?;
    let text = |point: Option<&(f64, &lab::record::Value)>| {
        point.map_or_else(String::new, |(_, value)| value.text())
    };
    let gzip = records.get(GZIP.at(&[]))?;
    let caption = format!(
        "The tiny model on crates that it has not seen, while it learns: from {} to {} bits per byte. gzip needs {}.",
        text(points.first()),
        text(points.last()),
        gzip.text()
    );
    Lines {
        over: "tokens",
        x: Axis::new("tokens read", Scale::Log),
        y: bits(),
        lines: vec![("tiny".to_owned(), line)],
        limits: Limits::These(vec![("gzip -9".to_owned(), gzip.median)]),
        ..Lines::default()
    }
    .draw(records, caption)
}

/// What was changed, and to what.
fn rows() -> Vec<(String, Quantity)> {
    let of = |what: &str, value: String| {
        let quantity = ABLATION.at(&[("what", &what), ("value", &value)]);
        (format!("{what} {value}"), quantity)
    };
    let contexts = CONTEXTS.map(|context| of("context", context.to_string()));
    let widths = WIDTHS.map(|width| of("width", width.to_string()));
    let rates = RATES.map(|rate| of("learning rate", rate.to_string()));
    contexts.into_iter().chain(widths).chain(rates).collect()
}

fn draw_ablation(records: &Records) -> Result<Drawing> {
    let of = |width: usize| records.text(ABLATION.at(&[("what", &"width"), ("value", &width)]));
    let caption = format!(
        "Bits per byte of small models after the same number of tokens, one thing changed at a time: {} with a width of {}, {} \
         with {}.",
        of(WIDTHS[0])?,
        WIDTHS[0],
        of(WIDTHS[2])?,
        WIDTHS[2]
    );
    Bars { axis: bits(), bars: rows(), limits: Limits::None, ..Bars::default() }
        .draw(records, caption)
}

fn table_ablation(records: &Records) -> Result<TableData> {
    let ends = |quantity: &Quantity, q: f64| match records.get(quantity) {
        Ok(value) => Unit::Number.format(value.samples.quantile(q)),
        Err(_) => "–".to_owned(),
    };
    let tokens = records.every(ABLATION.at(&[]))?[0].number("tokens").unwrap_or(f64::NAN);
    let caption = format!(
        "Bits per byte on unseen crates after {} tokens, of three seeds each. Without a change: a context of 128, a width of 64, \
         a learning rate of 0.003.",
        Unit::Count.format(tokens)
    );
    Grid::new(rows())
        .column("changed", |(name, _)| name.clone())
        .column("median", |(_, quantity)| quantity.clone())
        .column("lowest", |(_, quantity)| ends(quantity, 0.0))
        .column("highest", |(_, quantity)| ends(quantity, 1.0))
        .table(records, caption)
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
        for (tokens, loss) in [(6144, 5.0), (12_288, 4.0), (24_576, 3.0)] {
            made.add(LEARNING.at(&[("size", &"tiny"), ("tokens", &tokens)]), loss);
        }
        made.add(GZIP.at(&[]), 1.9);
        for (_, quantity) in rows() {
            made.add(quantity.with("tokens", 458_752), 2.5);
        }
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
        assert!(draw_learning(&records).unwrap().caption.contains("from 5.00 to 3.00 bits"));
        assert!(draw_scaling(&records).unwrap().caption.contains("off by 2.00%"));
        let rows = table_ablation(&records).unwrap().rows;
        assert_eq!(rows[9], ["learning rate 0.01", "2.50", "2.25", "2.75"]);
        assert_eq!(table_scaling(&records).unwrap().rows[4][..3], ["96", "270,000", "5,400,000"]);
    }
}
