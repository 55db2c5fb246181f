//! The figures and tables of this part.

use crate::measured::experiments::plan::{
    BATCHES, JITTER, PUBLISHED, SCALING, SCALING_ERROR, SCALING_TYPICAL, SCALING_WORST, WHY,
};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Limits, Lines},
    key::Quantity,
    plot::{Axis, LimitLine, Scale, Series},
    units,
};

/// All figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: SCALING.name, draw: scaling_curves },
        Figure { key: WHY.name, draw: why_curves },
    ]
}

/// All tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: SCALING.name, make: scaling_table }]
}

fn median(records: &Records, quantity: Quantity) -> Result<f64> {
    Ok(records.get(quantity)?.median)
}

/// A difference of fractions, in percentage points: `+3.1 points`.
fn points(difference: f64) -> String {
    format!("{} points", units::difference(100.0 * difference, 1))
}

/// The published runs that are drawn.
const DRAWN: [(&str, &str, &str); 4] = [
    ("horovod", "resnet101", "ResNet-101"),
    ("goyal", "resnet50", "ResNet-50"),
    ("horovod", "vgg16", "VGG-16"),
    ("playbook", "transformer-1b", "transformer"),
];

/// A record's key in full.
fn in_full(word: &str) -> String {
    let full = match word {
        "horovod" => "Horovod, 2018",
        "goyal" => "Goyal et al., 2017",
        "playbook" => "Ultra-Scale Playbook, 2025",
        "resnet50" => "ResNet-50",
        "resnet101" => "ResNet-101",
        "inception3" => "Inception V3",
        "vgg16" => "VGG-16",
        "mlp" => "MLP",
        "gpt-7b" => "GPT-7B",
        "transformer-1b" => "transformer",
        other => other,
    };
    full.to_owned()
}

/// The rate of each GPU on ever more of them, published and simulated.
///
/// # Errors
/// If a record is missing.
pub fn scaling_curves(records: &Records) -> Result<Drawing> {
    let of = |key: Key, by: &str, model: &str| key.at(&[("by", &by), ("model", &model)]);
    let lines = DRAWN.map(|(by, model, name)| (name.to_owned(), of(SCALING, by, model)));
    let mut plot = Lines {
        over: "cards",
        x: Axis::new("GPUs", Scale::Log).ticks([1.0, 8.0, 64.0, 512.0]),
        y: Axis::new("rate of each GPU (%)", Scale::Linear).range(25.0, 105.0),
        scale: |share| 100.0 * share,
        lines: lines.into(),
        limits: Limits::None,
    }
    .plot(records)?;
    let (mut points, mut words) = (Vec::new(), Vec::new());
    for (by, model, name) in DRAWN {
        let found = records.over("cards", of(PUBLISHED, by, model))?;
        for (cards, share) in &found {
            let predicted = records.get(of(SCALING, by, model).with("cards", cards))?;
            words.push(format!(
                "{name} on {cards} GPUs: {:.0}% predicted, {:.0}% published",
                100.0 * predicted.median,
                100.0 * share.median
            ));
        }
        points.extend(found.into_iter().map(|(cards, value)| (cards, 100.0 * value.median)));
    }
    points.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)));
    let name = "published".to_owned();
    plot.series.push(Series { name, points, band: vec![], joined: false });
    let points = vec![(1.0, 100.0), (512.0, 100.0)];
    plot.limits.push(LimitLine { name: "no loss".to_owned(), points });
    let caption = format!(
        "Each GPU's rate as more of them train together: simulated lines, published points. One number is calibrated on one point; the others are off by {:.1} percentage points in the median and by {:.1} at most.",
        100.0 * median(records, SCALING_TYPICAL.at(&[]))?,
        100.0 * median(records, SCALING_WORST.at(&[]))?
    );
    // By points: the curves alone do not show where the published ones lie.
    let alt = format!("Curves that fall with the number of GPUs. {}.", words.join("; "));
    Ok(Drawing { alt, ..plot.drawing(caption) })
}

/// The same, as published and as predicted.
///
/// # Errors
/// If a record is missing.
pub fn scaling_table(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for value in records.every(PUBLISHED.at(&[]))? {
        let of = |name: &str| value.param(name).unwrap_or_default().to_owned();
        let predicted = records.get(SCALING.beside(value))?;
        let error = records.get(SCALING_ERROR.beside(value))?;
        rows.push(vec![
            in_full(&of("by")),
            in_full(&of("model")),
            of("cards"),
            format!("{:.0}%", 100.0 * value.median),
            format!("{:.1}%", 100.0 * predicted.median),
            points(error.median),
        ]);
    }
    let jitter = records.get(JITTER.at(&[]))?;
    Ok(TableData {
        caption: format!(
            "Published and simulated rate of each GPU. Calibrated on ResNet-101 over 512 GPUs: the GPUs' times differ by {} (one standard deviation). The transformer's model and batch are not published; they are assumed from its memory.",
            jitter.text()
        ),
        head: ["published by", "model", "GPUs", "published", "simulated", "error"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}

/// How much faster a step gets with more cards, by model.
///
/// # Errors
/// If a record is missing.
pub fn why_curves(records: &Records) -> Result<Drawing> {
    let of = |model: &str, batch: usize| WHY.at(&[("model", &model), ("batch", &batch)]);
    let lines = BATCHES.map(|(model, batch)| {
        let name = format!("{}, batch {}", in_full(model), Unit::Count.format(batch as f64));
        (name, of(model, batch))
    });
    let at = |model, batch, cards: usize| {
        median(records, of(model, batch).with("cards", cards)).map(|x| Unit::Number.format(x))
    };
    let caption = format!(
        "How much faster a step of the same batch gets on simulated H200 cards; all wait for the slowest. On 64 cards the digit classifier reaches {} times its speed, and the 7B transformer {} times.",
        at("mlp", 128, 64)?,
        at("gpt-7b", 4096, 64)?
    );
    let mut plot = Lines {
        over: "cards",
        x: Axis::new("GPUs", Scale::Log).ticks([1.0, 8.0, 64.0, 512.0, 4096.0]),
        y: Axis::new("speed-up over one GPU", Scale::Log),
        lines: lines.into(),
        ..Lines::default()
    }
    .plot(records)?;
    let points = vec![(1.0, 1.0), (4096.0, 4096.0)];
    plot.limits.push(LimitLine { name: "ideal".to_owned(), points });
    Ok(plot.drawing(caption))
}
