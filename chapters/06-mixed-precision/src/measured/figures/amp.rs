//! Figures and tables of what was measured.

use crate::{
    amp::{
        ablations::{SETTINGS, Setting, Variant},
        range,
    },
    measured::experiments::amp::{
        ABLATION_SEEDS, ABLATIONS, FAILED, GRADIENTS, LAYERS, LOOKS, SCALE, SHARES,
    },
};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData,
    drawing::Lines,
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    table::Grid,
    units::{difference, plain},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: GRADIENTS.name, draw: draw_gradients },
        Figure { key: "mixed_precision.gradients.scale", draw: draw_scale },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: ABLATIONS.name, make: table_ablations }]
}

/// A layer's displayed name: the first of the deep model's nine is layer 1.
fn layer_name(layer: &str) -> &'static str {
    match layer {
        "layers.0.0.weight" => "first layer",
        "layers.1.3.0.weight" => "fifth layer",
        _ => "last layer",
    }
}

/// Vertical lines where f16 ends.
fn limits(top: f64) -> Vec<LimitLine> {
    [("least normal", range::NORMAL), ("least", range::LEAST)]
        .into_iter()
        .map(|(name, at)| LimitLine {
            name: name.into(),
            points: vec![(f64::from(at), 0.0), (f64::from(at), top)],
        })
        .collect()
}

/// The maximum of all series, and a little more.
fn top(series: &[Series]) -> f64 {
    1.1 * series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max)
}

fn axis_x() -> Axis {
    let ticks: Vec<f64> = (-9..=1).map(|n| 5.0 * f64::from(n)).collect();
    Axis::new("size of a gradient, as a power of two", Scale::Linear).range(-45.0, 5.0).ticks(ticks)
}

fn axis_y() -> Axis {
    Axis::new("fraction of the layer's gradients (%)", Scale::Linear)
}

/// One fraction of one layer's gradients in the first step.
fn share((model, layer): (&str, &str), scale: f32, [from, kind]: [&str; 2]) -> Quantity {
    SHARES.at(&[
        ("model", &model),
        ("layer", &layer),
        ("step", &LOOKS[0]),
        ("scale", &scale),
        ("from", &from),
        ("kind", &kind),
    ])
}

/// A layer's gradients of the first step, by their size.
fn sizes(model: &str, layer: &str) -> Quantity {
    GRADIENTS.at(&[("model", &model), ("layer", &layer), ("step", &LOOKS[0])])
}

fn draw_gradients(records: &Records) -> Result<Drawing> {
    let (model, layers) = LAYERS[1];
    let line = |layer: &&str| (layer_name(layer).to_owned(), sizes(model, layer));
    let lines = Lines {
        over: "exponent",
        x: axis_x(),
        y: axis_y(),
        scale: |share| 100.0 * share,
        lines: layers.iter().map(line).collect(),
        ..Lines::default()
    };
    let mut plot = lines.plot(records)?;
    plot.limits = limits(top(&plot.series));
    Ok(plot.drawing(format!(
        "Without loss scaling f16 makes {} of the first layer's gradients zero. Of a network with eight hidden layers, in step {} of \
         training: the fraction of each layer's gradients that lies between a power of two and the next. The further from the \
         loss, the smaller.",
        records.text(share((model, layers[0]), 1.0, ["predicted", "vanished"]))?,
        LOOKS[0]
    )))
}

fn draw_scale(records: &Records) -> Result<Drawing> {
    let (model, layers) = LAYERS[1];
    let points = records.over("exponent", sizes(model, layers[0]))?;
    let plain = Series::of("unscaled", &points, |share| 100.0 * share);
    let mut scaled = Series { name: format!("times {SCALE}"), ..plain.clone() };
    scaled.points.iter_mut().for_each(|point| point.0 += f64::from(SCALE.log2()));
    let vanished = |scale| records.text(share((model, layers[0]), scale, ["measured", "vanished"]));
    let caption = format!(
        "In f16 {} of the gradients vanish without a factor before the loss, {} with it. The first layer's; the factor is a \
         power of two: all bins move by {} positions, and nothing else changes.",
        vanished(1.0)?,
        vanished(SCALE)?,
        SCALE.log2()
    );
    let series = vec![plain, scaled];
    let limits = limits(top(&series));
    Ok(LinePlot { x: axis_x(), y: axis_y(), series, limits }.drawing(caption))
}

/// A quantity of a variant.
fn of(key: Key, setting: &Setting, variant: Variant) -> Quantity {
    key.at(&[("setting", &setting.name), ("variant", &variant)])
}

/// What a variant ends with, in words: an accuracy, or that some seeds reached NaN.
fn ending(records: &Records, setting: &Setting, variant: Variant) -> Result<String> {
    records.text(of(ABLATIONS, setting, variant)).or_else(|missing| {
        let failed = records.get(of(FAILED, setting, variant)).map_err(|_| missing)?;
        let seeds = failed.count();
        Ok(format!("NaN in step {} ({seeds} of {ABLATION_SEEDS} seeds)", failed.text()))
    })
}

fn table_ablations(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for setting in &SETTINGS {
        let full = records.get(of(ABLATIONS, setting, Variant::F32))?.median;
        for variant in setting.variants {
            rows.push((setting, *variant, full, ending(records, setting, *variant)?));
        }
    }
    Grid::new(rows)
        .column("setting", |(setting, ..)| setting.name)
        .column("variant", |(_, variant, ..)| match variant {
            // A key has the number as Rust prints it.
            Variant::HalfAdam { epsilon } => format!("f16 adam, ε = {}", plain(*epsilon)),
            other => other.to_string(),
        })
        .column("test accuracy", |(.., ending)| ending.clone())
        .column("against f32", |(setting, variant, full, _)| {
            let value = records.get(of(ABLATIONS, setting, *variant));
            value.map_or_else(
                |_| "none".to_owned(),
                |value| difference(100.0 * (value.median - full), 2),
            )
        })
        .table(
            records,
            "Test accuracy without each part of mixed precision, medians of three seeds, and the difference to f32 \
             in percentage points.",
        )
}
