//! Pictures and tables of what was measured.

use crate::amp::{
    ablations::{SETTINGS, Setting, Variant},
    range,
    studies::{ABLATION_SEEDS, BATCHES, LAYERS, LOOKS, SCALE},
};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, few},
    record::{ParamList, Value},
    units::{difference, plain},
};
use training::{
    Precision,
    measured::figures::studies::{line, places, some, words},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "mixed_precision.gradients", draw: draw_gradients },
        Figure { key: "mixed_precision.gradients.scale", draw: draw_scale },
        Figure { key: "mixed_precision.amp", draw: draw_accuracy },
        Figure { key: "mixed_precision.ablations.deep", draw: draw_deep },
        Figure { key: "mixed_precision.ablations.loss", draw: draw_loss },
        Figure { key: "mixed_precision.ablations.steps", draw: draw_steps },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "mixed_precision.gradients", make: table_gradients },
        Table { key: "mixed_precision.amp", make: table_accuracy },
        Table { key: "mixed_precision.ablations", make: table_ablations },
        Table { key: "mixed_precision.amp.speed", make: table_speed },
        Table { key: "mixed_precision.amp.memory", make: table_memory },
    ]
}

/// A layer for a person: the first of the deep model's nine is layer 1.
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

/// The highest point of all series, and a little more.
fn top(series: &[lab::plot::Series]) -> f64 {
    1.1 * series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max)
}

fn axis_x() -> Axis {
    let ticks: Vec<f64> = (-9..=1).map(|n| 5.0 * f64::from(n)).collect();
    Axis::new("size of a gradient, as a power of two", Scale::Linear).range(-45.0, 5.0).ticks(ticks)
}

/// One share of one layer's gradients in the first step.
fn share<'r>(
    records: &'r Records,
    (model, layer): (&str, &str),
    scale: f32,
    [from, kind]: [&str; 2],
) -> Result<&'r Value> {
    let list: ParamList = &[
        ("model", &model),
        ("layer", &layer),
        ("step", &LOOKS[0]),
        ("scale", &scale),
        ("from", &from),
        ("kind", &kind),
    ];
    records.find("mixed_precision.gradients.share", list)
}

fn draw_gradients(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.gradients";
    let (model, layers) = LAYERS[1];
    let lines = layers.iter().map(|layer| {
        let list: ParamList = &[("model", &model), ("layer", layer), ("step", &LOOKS[0])];
        line(records, (KEY, list), "exponent", layer_name(layer), |share| 100.0 * share)
    });
    let series = some(lines.collect(), KEY)?;
    let first = share(records, (model, layers[0]), 1.0, ["predicted", "vanished"])?;
    let caption = format!(
        "How large the gradients of a network with eight hidden layers are, in step {} of training: the share of each layer's that \
         lies between a power of two and the next. The further from the loss, the smaller. Of the first layer's, f16 \
         makes {} zero that are not, if nothing is done.",
        LOOKS[0],
        first.text()
    );
    let alt = peaks(&series);
    let limits = limits(top(&series));
    let y = Axis::new("share of the layer's gradients (%)", Scale::Linear);
    let plot = LinePlot { x: axis_x(), y, series, limits };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// Where each series has its peak, in words.
fn peaks(series: &[lab::plot::Series]) -> String {
    let peaks = series.iter().filter_map(|s| {
        let peak = s.points.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!(
            "{}: most between two to the {} and the next power, {}",
            s.name,
            plain(peak.0),
            Unit::Share.format(0.01 * peak.1)
        ))
    });
    format!("{}.", peaks.collect::<Vec<_>>().join("; "))
}

fn draw_scale(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.gradients";
    let (model, layers) = LAYERS[1];
    let list: ParamList = &[("model", &model), ("layer", &layers[0]), ("step", &LOOKS[0])];
    let plain = line(records, (KEY, list), "exponent", "as they are", |share| 100.0 * share);
    let mut scaled = plain.clone();
    scaled.name = format!("times {SCALE}");
    scaled.points.iter_mut().for_each(|point| point.0 += f64::from(SCALE.log2()));
    let series = some(vec![plain, scaled], KEY)?;
    let of = |scale| share(records, (model, layers[0]), scale, ["measured", "vanished"]);
    let caption = format!(
        "The first layer's gradients without and with a factor before the loss. The factor is a power of two: all bins \
         move by {} places, and nothing else changes. Measured in f16, {} of the gradients vanish without it, {} with it.",
        SCALE.log2(),
        of(1.0)?.text(),
        of(SCALE)?.text()
    );
    let alt = peaks(&series);
    let limits = limits(top(&series));
    let y = Axis::new("share of the layer's gradients (%)", Scale::Linear);
    let plot = LinePlot { x: axis_x(), y, series, limits };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_gradients(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (model, layers) in LAYERS {
        for layer in layers {
            for scale in [1.0, SCALE] {
                let cell = |of| share(records, (model, layer), scale, of).map(Value::text);
                rows.push(vec![
                    format!("{model}, {}", layer_name(layer)),
                    format!("{scale}"),
                    cell(["predicted", "zero"])?,
                    cell(["predicted", "vanished"])?,
                    cell(["measured", "vanished"])?,
                    cell(["predicted", "subnormal"])?,
                    cell(["measured", "subnormal"])?,
                ]);
            }
        }
    }
    let head = [
        "gradients",
        "factor",
        "zero in f32",
        "vanish: predicted",
        "measured",
        "subnormal: predicted",
        "measured",
    ];
    Ok(TableData {
        caption: format!(
            "What f16 makes of the gradients of step {}: predicted by rounding the f32 ones, and measured in a backward \
             pass in f16.",
            LOOKS[0]
        ),
        head: head.map(String::from).into(),
        rows,
    })
}

/// Wrong answers in percent.
fn wrong(share: f64) -> f64 {
    100.0 * (1.0 - share)
}

fn draw_accuracy(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.amp.curve";
    let lines = Precision::ALL.map(|precision| {
        line(records, (KEY, &[("precision", &precision)]), "epoch", precision.name(), wrong)
    });
    let series = some(lines.into(), KEY)?;
    let difference = records.find("mixed_precision.amp.difference", &[])?;
    let caption = format!(
        "Wrong answers of chapter 4's network 784-128-10 on the test pictures, in f32 and in mixed precision (medians of {} seeds, \
         bands: half of them). At the end, the two differ by {} points in the median, from the same seed.",
        difference.samples.0.len(),
        difference.text()
    );
    Ok(curves(series, caption))
}

/// A picture of wrong answers over the epochs.
fn curves(series: Vec<lab::plot::Series>, caption: String) -> Drawing {
    let (alt, epochs) = (words(&series, Unit::Share), places(&series));
    let plot = LinePlot {
        x: Axis::new("epoch", Scale::Linear).ticks(few(&epochs)),
        y: Axis::new("wrong answers (%)", Scale::Log),
        series,
        limits: Vec::new(),
    };
    Drawing { svg: plot.svg(), caption, alt }
}

fn table_accuracy(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for precision in Precision::ALL {
        let value = records.find("mixed_precision.amp", &[("precision", &precision)])?;
        let range =
            |of: fn(f64, f64) -> f64, start| value.samples.0.iter().copied().fold(start, of);
        rows.push(vec![
            precision.to_string(),
            value.text(),
            Unit::Share.format(range(f64::min, f64::MAX)),
            Unit::Share.format(range(f64::max, f64::MIN)),
        ]);
    }
    Ok(TableData {
        caption: "Test accuracy of 784-128-10 on MNIST after ten epochs, from the same seeds."
            .into(),
        head: ["precision", "median", "lowest", "highest"].map(String::from).into(),
        rows,
    })
}

/// The curves of one setting.
fn setting(records: &Records, setting: &Setting) -> Result<Vec<lab::plot::Series>> {
    const KEY: &str = "mixed_precision.ablations.curve";
    let lines = setting.variants.iter().map(|variant| {
        let list: ParamList = &[("setting", &setting.name), ("variant", variant)];
        line(records, (KEY, list), "epoch", &variant.to_string(), wrong)
    });
    some(lines.collect(), KEY)
}

/// The accuracy that a variant ends with.
fn end<'r>(records: &'r Records, setting: &Setting, variant: Variant) -> Result<&'r Value> {
    let list: ParamList = &[("setting", &setting.name), ("variant", &variant)];
    records.find("mixed_precision.ablations", list)
}

/// What a variant ends with, in words: an accuracy, or that some seeds came to no number.
fn ending(records: &Records, setting: &Setting, variant: Variant) -> Result<String> {
    let missing = match end(records, setting, variant) {
        Ok(value) => return Ok(value.text()),
        Err(missing) => missing,
    };
    let list: ParamList = &[("setting", &setting.name), ("variant", &variant)];
    let failed = records.find("mixed_precision.ablations.failed", list).map_err(|_| missing)?;
    let seeds = failed.samples.0.len();
    Ok(format!("NaN in step {} ({seeds} of {ABLATION_SEEDS} seeds)", failed.text()))
}

fn draw_deep(records: &Records) -> Result<Drawing> {
    let of = |variant| Ok::<_, lab::Error>(end(records, &SETTINGS[1], variant)?.text());
    let caption = format!(
        "The network with eight hidden layers in f32, in mixed precision, and in mixed precision without a factor before \
         the loss. They end at {}, {} and {} right answers.",
        of(Variant::F32)?,
        of(Variant::Amp)?,
        of(Variant::NoScale)?
    );
    Ok(curves(setting(records, &SETTINGS[1])?, caption))
}

fn draw_loss(records: &Records) -> Result<Drawing> {
    let of = |variant| ending(records, &SETTINGS[0], variant);
    let caption = format!(
        "784-128-10 as usual. In mixed precision it ends at {} right answers; without a factor, and with a loss that is \
         65,536 times smaller: {}. In f32 the size of the loss does not matter to Adam: {}.",
        of(Variant::Amp)?,
        of(Variant::SmallLoss)?,
        of(Variant::F32)?
    );
    let shown = [Variant::F32, Variant::Amp, Variant::NoScale, Variant::SmallLoss];
    let names = shown.map(|variant| variant.to_string());
    let series = setting(records, &SETTINGS[0])?.into_iter().filter(|s| names.contains(&s.name));
    Ok(curves(series.collect(), caption))
}

fn draw_steps(records: &Records) -> Result<Drawing> {
    let of = |variant| Ok::<_, lab::Error>(end(records, &SETTINGS[2], variant)?.text());
    let caption = format!(
        "784-128-10 with a learning rate of {}. With weights that are f16 between steps it reads {} of the test pictures, \
         with f32 weights {}, in f32 throughout {}.",
        SETTINGS[2].lr,
        of(Variant::NoMasters)?,
        of(Variant::Amp)?,
        of(Variant::F32)?
    );
    Ok(curves(setting(records, &SETTINGS[2])?, caption))
}

fn table_ablations(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for setting in &SETTINGS {
        let full = end(records, setting, Variant::F32)?.median;
        for variant in setting.variants {
            let accuracy = ending(records, setting, *variant)?;
            let against = match end(records, setting, *variant) {
                Ok(value) => difference(100.0 * (value.median - full), 2),
                Err(_) => "none".to_owned(),
            };
            // A key has the number as Rust writes it.
            let variant = match variant {
                Variant::HalfAdam { epsilon } => format!("f16 adam, ε = {}", plain(*epsilon)),
                other => other.to_string(),
            };
            rows.push(vec![setting.name.into(), variant, accuracy, against]);
        }
    }
    Ok(TableData {
        caption: "Test accuracy without each part of mixed precision, medians of three seeds, and the difference to f32 \
                  in points."
            .into(),
        head: ["setting", "variant", "test accuracy", "against f32"].map(String::from).into(),
        rows,
    })
}

fn table_speed(records: &Records) -> Result<TableData> {
    const KEY: &str = "mixed_precision.amp.speed";
    let mut devices: Vec<String> =
        records.all(KEY, &[]).iter().filter_map(|v| v.params.get("device").cloned()).collect();
    devices.sort();
    devices.dedup();
    let mut rows = Vec::new();
    for device in &devices {
        for batch in BATCHES {
            let of = |precision: Precision| {
                let list: ParamList =
                    &[("precision", &precision), ("device", device), ("batch", &batch)];
                records.find(KEY, list).map(Value::text)
            };
            let list: ParamList = &[("device", device), ("batch", &batch)];
            let ratio = records.find("mixed_precision.amp.speed.ratio", list)?;
            rows.push(vec![
                device.clone(),
                batch.to_string(),
                of(Precision::F32)?,
                of(Precision::Amp)?,
                ratio.text(),
            ]);
        }
    }
    if rows.is_empty() {
        records.find(KEY, &[])?;
    }
    Ok(TableData {
        caption:
            "Pictures that 784-128-10 learns from in a second, and mixed precision against f32."
                .into(),
        head: ["device", "batch", "f32", "amp", "amp against f32"].map(String::from).into(),
        rows,
    })
}

fn table_memory(records: &Records) -> Result<TableData> {
    const KEY: &str = "mixed_precision.amp.memory";
    let of = |precision: Precision, what: &str| {
        let list: ParamList = &[("precision", &precision), ("what", &what)];
        records.find(KEY, list).map(Value::text)
    };
    let kinds = [
        "weights in f32",
        "weights in f16",
        "gradients in f16",
        "gradients in f32",
        "Adam's means",
        "all",
    ];
    let row = |what: &str| {
        Ok(vec![what.to_owned(), of(Precision::F32, what)?, of(Precision::Amp, what)?])
    };
    Ok(TableData {
        caption: "Bytes for each parameter of 784-128-10, counted on the tensors of a step.".into(),
        head: ["what", "f32", "amp"].map(String::from).into(),
        rows: kinds.into_iter().map(row).collect::<Result<_>>()?,
    })
}
