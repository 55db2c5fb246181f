//! The figure of published runs beside simulated ones.

use crate::measured::experiments::plan::{PUBLISHED, SCALING, SCALING_TYPICAL, SCALING_WORST};
use lab::{
    Drawing, Figure, Key, Records, Result,
    drawing::{Limits, Lines},
    plot::{Axis, LimitLine, Scale, Series},
};

/// All figures.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: SCALING.name, draw: scaling_curves }]
}

/// The published runs that are drawn.
const DRAWN: [(&str, &str, &str); 4] = [
    ("horovod", "resnet101", "ResNet-101"),
    ("goyal", "resnet50", "ResNet-50"),
    ("horovod", "vgg16", "VGG16"),
    ("playbook", "transformer-1b", "transformer"),
];

/// The rate of each GPU on ever more of them, published and simulated.
fn scaling_curves(records: &Records) -> Result<Drawing> {
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
    plot.series.push(Series::dots("published", points));
    let points = vec![(1.0, 100.0), (512.0, 100.0)];
    plot.limits.push(LimitLine { name: "no loss".to_owned(), points });
    let caption = format!(
        "Simulated rates are off by {:.1} percentage points in the median and by {:.1} at most. Each GPU's rate as more of them train together: simulated lines, published points. One number is calibrated on one point, which does not count.",
        100.0 * records.get(SCALING_TYPICAL.at(&[]))?.median,
        100.0 * records.get(SCALING_WORST.at(&[]))?.median
    );
    // By points: the curves alone do not show where the published ones lie.
    let alt = format!("Curves that fall with the number of GPUs. {}.", words.join("; "));
    Ok(Drawing { alt, ..plot.drawing(caption) })
}
