//! Figures and tables of what was measured.

use crate::{
    amp::{
        ablations::{SETTINGS, Setting, Variant},
        range,
    },
    measured::experiments::amp::{
        ABLATION_CURVE, ABLATION_SEEDS, ABLATIONS, BATCHES, COMPARED, CURVE, DIFFERENCE, FAILED,
        GRADIENTS, LAYERS, LOOKS, MEMORY, RIGHT, SCALE, SHARES, SPEED, SPEED_RATIO,
    },
};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::Lines,
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::Grid,
    units::{difference, plain},
};
use training::Precision;

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: GRADIENTS.name, draw: draw_gradients },
        Figure { key: "mixed_precision.gradients.scale", draw: draw_scale },
        Figure { key: RIGHT.name, draw: draw_accuracy },
        Figure { key: "mixed_precision.ablations.deep", draw: draw_deep },
        Figure { key: "mixed_precision.ablations.loss", draw: draw_loss },
        Figure { key: "mixed_precision.ablations.steps", draw: draw_steps },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: GRADIENTS.name, make: table_gradients },
        Table { key: RIGHT.name, make: table_accuracy },
        Table { key: ABLATIONS.name, make: table_ablations },
        Table { key: SPEED.name, make: table_speed },
        Table { key: MEMORY.name, make: table_memory },
    ]
}

/// A layer's displayed name: the first of the deep model's nine is layer 1.
fn layer_name(layer: &str) -> &'static str {
    match layer {
        "0.0.weight" | "layers.0.0.weight" => "first layer",
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
        "How large the gradients of a network with eight hidden layers are, in step {} of training: the fraction of each layer's gradients \
         that lies between a power of two and the next. The further from the loss, the smaller. Of the first layer's, f16 \
         makes {} zero without loss scaling.",
        LOOKS[0],
        records.text(share((model, layers[0]), 1.0, ["predicted", "vanished"]))?
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
        "The first layer's gradients without and with a factor before the loss. The factor is a power of two: all bins \
         move by {} positions, and nothing else changes. Measured in f16, {} of the gradients vanish without it, {} with it.",
        SCALE.log2(),
        vanished(1.0)?,
        vanished(SCALE)?
    );
    let series = vec![plain, scaled];
    let limits = limits(top(&series));
    Ok(LinePlot { x: axis_x(), y: axis_y(), series, limits }.drawing(caption))
}

fn table_gradients(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (model, layers) in LAYERS {
        for layer in layers {
            rows.extend([1.0, SCALE].map(|scale| ((model, *layer), scale)));
        }
    }
    let caption = format!(
        "What f16 makes of the gradients of step {}: predicted by rounding the f32 ones, and measured in a backward \
         pass in f16.",
        LOOKS[0]
    );
    let mut grid = Grid::new(rows)
        .column("gradients", |((model, layer), _)| format!("{model}, {}", layer_name(layer)))
        .column("factor", |(_, scale): &(_, f32)| scale.to_string());
    for (head, of) in [
        ("zero in f32", ["predicted", "zero"]),
        ("vanish: predicted", ["predicted", "vanished"]),
        ("measured", ["measured", "vanished"]),
        ("subnormal: predicted", ["predicted", "subnormal"]),
        ("measured", ["measured", "subnormal"]),
    ] {
        grid = grid.column(head, move |(of_layer, scale)| share(*of_layer, *scale, of));
    }
    grid.table(records, caption)
}

/// Error rate in percent.
fn wrong(share: f64) -> f64 {
    100.0 * (1.0 - share)
}

fn draw_accuracy(records: &Records) -> Result<Drawing> {
    let difference = records.get(DIFFERENCE.at(&[]))?;
    let caption = format!(
        "Test error of chapter 4's network 784-128-10, in f32 and in mixed precision (medians of {} seeds, \
         bands: half of them). At the end, the two differ by {} percentage points in the median, for the same seed.",
        difference.samples.0.len(),
        difference.text()
    );
    let curve = |precision: Precision| CURVE.at(&[("precision", &precision)]);
    let lines = COMPARED.map(|precision| (precision.name().to_owned(), curve(precision)));
    curves(records, lines.into(), caption)
}

/// A figure of the test error over the epochs.
fn curves(records: &Records, lines: Vec<(String, Quantity)>, caption: String) -> Result<Drawing> {
    Lines {
        over: "epoch",
        x: Axis::new("epoch", Scale::Linear),
        y: Axis::new("test error (%)", Scale::Log),
        scale: wrong,
        lines,
        ..Lines::default()
    }
    .draw(records, caption)
}

fn table_accuracy(records: &Records) -> Result<TableData> {
    let quantile = |value: &Value, at| Unit::Share.format(value.samples.quantile(at));
    Grid::new(records.every(RIGHT.at(&[]))?)
        .column("precision", |value| value.param("precision").unwrap_or_default())
        .column("median", |value| value.text())
        .column("lowest", |value| quantile(value, 0.0))
        .column("highest", |value| quantile(value, 1.0))
        .table(
            records,
            "Test accuracy of 784-128-10 on MNIST after ten epochs, from the same seeds.",
        )
}

/// The curves of some variants of a setting.
fn variants(setting: &Setting, variants: &[Variant]) -> Vec<(String, Quantity)> {
    let curve = |variant: &Variant| (variant.to_string(), of(ABLATION_CURVE, setting, *variant));
    variants.iter().map(curve).collect()
}

/// A quantity of a variant.
fn of(key: Key, setting: &Setting, variant: Variant) -> Quantity {
    key.at(&[("setting", &setting.name), ("variant", &variant)])
}

/// What a variant ends with, in words: an accuracy, or that some seeds reached NaN.
fn ending(records: &Records, setting: &Setting, variant: Variant) -> Result<String> {
    records.text(of(ABLATIONS, setting, variant)).or_else(|missing| {
        let failed = records.get(of(FAILED, setting, variant)).map_err(|_| missing)?;
        let seeds = failed.samples.0.len();
        Ok(format!("NaN in step {} ({seeds} of {ABLATION_SEEDS} seeds)", failed.text()))
    })
}

fn draw_deep(records: &Records) -> Result<Drawing> {
    let of = |variant| records.text(of(ABLATIONS, &SETTINGS[1], variant));
    let caption = format!(
        "The network with eight hidden layers in f32, in mixed precision, and in mixed precision without a factor before \
         the loss. They end at {}, {} and {} accuracy.",
        of(Variant::F32)?,
        of(Variant::Amp)?,
        of(Variant::NoScale)?
    );
    curves(records, variants(&SETTINGS[1], SETTINGS[1].variants), caption)
}

fn draw_loss(records: &Records) -> Result<Drawing> {
    let of = |variant| ending(records, &SETTINGS[0], variant);
    let caption = format!(
        "784-128-10 as usual. In mixed precision it ends at {} accuracy; without a factor, and with a loss that is \
         65,536 times smaller: {}. In f32 the size of the loss does not matter to Adam: {}.",
        of(Variant::Amp)?,
        of(Variant::SmallLoss)?,
        of(Variant::F32)?
    );
    let shown = [Variant::F32, Variant::Amp, Variant::NoScale, Variant::SmallLoss];
    curves(records, variants(&SETTINGS[0], &shown), caption)
}

fn draw_steps(records: &Records) -> Result<Drawing> {
    let of = |variant| records.text(of(ABLATIONS, &SETTINGS[2], variant));
    let caption = format!(
        "784-128-10 with a learning rate of {}. With weights that are f16 between steps its test accuracy is {}, \
         with f32 weights {}, in f32 throughout {}.",
        SETTINGS[2].lr,
        of(Variant::NoMasters)?,
        of(Variant::Amp)?,
        of(Variant::F32)?
    );
    curves(records, variants(&SETTINGS[2], SETTINGS[2].variants), caption)
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

fn table_speed(records: &Records) -> Result<TableData> {
    let mut devices: Vec<&str> =
        records.every(SPEED.at(&[]))?.iter().filter_map(|value| value.param("device")).collect();
    devices.sort_unstable();
    devices.dedup();
    let rows = devices.into_iter().flat_map(|device| BATCHES.map(|batch| (device, batch)));
    let of =
        |key: Key, (device, batch): &(&str, usize)| key.at(&[("device", device), ("batch", batch)]);
    let mut grid = Grid::new(rows)
        .column("device", |(device, _)| *device)
        .column("batch", |(_, batch)| batch.to_string());
    for precision in COMPARED {
        grid =
            grid.column(precision.name(), move |row| of(SPEED, row).with("precision", precision));
    }
    grid.column("amp against f32", |row| of(SPEED_RATIO, row))
        .table(records, "Images a second in training 784-128-10, and mixed precision against f32.")
}

fn table_memory(records: &Records) -> Result<TableData> {
    let kinds = records.every(MEMORY.at(&[("precision", &Precision::F32)]))?;
    let mut grid = Grid::new(kinds).column("what", |bytes| bytes.param("what").unwrap_or_default());
    for precision in COMPARED {
        grid = grid.column(precision.name(), move |bytes| {
            MEMORY.beside(bytes).with("precision", precision)
        });
    }
    grid.table(records, "Bytes for each parameter of 784-128-10, counted on the tensors of a step.")
}
