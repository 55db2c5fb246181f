//! The pictures and tables of this part.

use crate::{measured::experiments::plan as measured, plan::published::MEGATRON};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::ParamList,
    units,
};

/// All figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "multi_gpu.predicted", draw: predicted_bars },
        Figure { key: "multi_gpu.scaling", draw: scaling_curves },
        Figure { key: "multi_gpu.why", draw: why_curves },
    ]
}

/// All tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "multi_gpu.predicted", make: predicted_table },
        Table { key: "multi_gpu.scaling", make: scaling_table },
        Table { key: "multi_gpu.planner", make: planner_table },
    ]
}

fn median(records: &Records, key: &str, list: ParamList) -> Result<f64> {
    Ok(records.find(key, list)?.median)
}

/// A difference of shares: `+3.1 points`.
fn points(difference: f64) -> String {
    format!("{} points", units::difference(100.0 * difference, 1))
}

/// A relative error: `+3.1%`.
fn percent(error: f64) -> String {
    format!("{}%", units::difference(100.0 * error, 1))
}

fn predicted_bars(records: &Records) -> Result<Drawing> {
    let (model, _, batch) = measured::CASES[1];
    let mut bars = Vec::new();
    for p in measured::RANKS {
        let list: ParamList = &[("model", &model), ("batch", &batch), ("ranks", &p)];
        let ranks = if p == 1 { "1 rank".to_owned() } else { format!("{p} ranks") };
        for (what, key) in
            [("predicted", "multi_gpu.predicted"), ("measured", "multi_gpu.predicted.measured")]
        {
            bars.push(Bar::of(&format!("{ranks}, {what}"), records.find(key, list), 1e-3)?);
        }
    }
    let worst = median(records, "multi_gpu.predicted.worst", &[])?;
    let caption = format!(
        "A step of {model} on {batch} pictures, predicted from parts and measured on {} with each thread kept to a core. The largest error over all networks and numbers of ranks is {:.0}%.",
        records.machine.in_words(),
        100.0 * worst
    );
    let alt = format!("Bars of predicted and measured seconds. {}", Bar::in_words(&bars));
    let axis = Axis::new("time of a step (ms)", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn predicted_table(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (model, _, batch) in measured::CASES {
        for p in measured::RANKS {
            let list: ParamList = &[("model", &model), ("batch", &batch), ("ranks", &p)];
            rows.push(vec![
                model.to_owned(),
                batch.to_string(),
                p.to_string(),
                records.find("multi_gpu.predicted", list)?.text(),
                records.find("multi_gpu.predicted.measured", list)?.text(),
                percent(median(records, "multi_gpu.predicted.error", list)?),
                records.find("multi_gpu.predicted.free", list)?.text(),
                percent(median(records, "multi_gpu.predicted.free.error", list)?),
            ]);
        }
    }
    let worst = median(records, "multi_gpu.predicted.worst", &[])?;
    let right = median(records, "multi_gpu.predicted.right", &[])?;
    Ok(TableData {
        caption: format!(
            "Predicted and measured seconds of a data parallel step over threads of {}, each kept to a core; the largest error is {:.1}%. The last two columns: the same step when the system may move the threads, and how far off the prediction is then. The number of ranks that is predicted to be the fastest is the fastest one in {right} of {} cases.",
            records.machine.in_words(),
            100.0 * worst,
            measured::CASES.len()
        ),
        head: ["network", "batch", "ranks", "predicted", "measured", "error", "moved", "error"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}

/// The published runs that are drawn.
const DRAWN: [(&str, &str, &str); 4] = [
    ("horovod", "resnet101", "ResNet-101"),
    ("goyal", "resnet50", "ResNet-50"),
    ("horovod", "vgg16", "VGG-16"),
    ("playbook", "transformer-1b", "transformer"),
];

/// A record's word as a person writes it.
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

/// (cards, share) of the values with this key, in the order of the cards.
fn curve(records: &Records, key: &str, list: ParamList) -> Vec<(f64, f64)> {
    let cards = |value: &lab::record::Value| value.params.get("cards")?.parse::<f64>().ok();
    let all = records.all(key, list);
    let mut found: Vec<_> = all.iter().filter_map(|v| Some((cards(v)?, v.median))).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

fn scaling_curves(records: &Records) -> Result<Drawing> {
    let worst = median(records, "multi_gpu.scaling.worst", &[])?;
    let typical = median(records, "multi_gpu.scaling.typical", &[])?;
    let (mut series, mut published, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for (by, model, name) in DRAWN {
        let list: ParamList = &[("by", &by), ("model", &model)];
        let points = curve(records, "multi_gpu.scaling", list);
        let real = curve(records, "multi_gpu.scaling.published", list);
        for (cards, share) in &real {
            let found = points.iter().find(|p| (p.0 - cards).abs() < 0.5).map_or(f64::NAN, |p| p.1);
            words.push(format!(
                "{name} on {cards} GPUs: {:.0}% predicted, {:.0}% published",
                100.0 * found,
                100.0 * share
            ));
        }
        published.extend(real.into_iter().map(|(x, y)| (x, 100.0 * y)));
        let points = points.into_iter().map(|(x, y)| (x, 100.0 * y)).collect();
        series.push(Series { name: name.to_owned(), points, band: vec![], joined: true });
    }
    published.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)));
    let name = "published".to_owned();
    series.push(Series { name, points: published, band: vec![], joined: false });
    let plot = LinePlot {
        x: Axis::new("GPUs", Scale::Log).ticks([1.0, 8.0, 64.0, 512.0]),
        y: Axis::new("rate of each GPU (%)", Scale::Linear).range(25.0, 105.0),
        series,
        limits: vec![LimitLine {
            name: "no loss".to_owned(),
            points: vec![(1.0, 100.0), (512.0, 100.0)],
        }],
    };
    let caption = format!(
        "Each GPU's rate as more of them train together: simulated lines, published points. One number is calibrated on one point; the others are off by {:.1} points in the median and by {:.1} at most.",
        100.0 * typical,
        100.0 * worst
    );
    let alt = format!("Curves that fall with the number of GPUs. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn scaling_table(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for value in records.all("multi_gpu.scaling.published", &[]) {
        let predicted = records.find_params("multi_gpu.scaling", &value.params)?;
        let error = records.find_params("multi_gpu.scaling.error", &value.params)?;
        let of = |name: &str| value.params.get(name).cloned().unwrap_or_default();
        rows.push(vec![
            in_full(&of("by")),
            in_full(&of("model")),
            of("cards"),
            format!("{:.0}%", 100.0 * value.median),
            format!("{:.1}%", 100.0 * predicted.median),
            points(error.median),
        ]);
    }
    let jitter = records.find("multi_gpu.scaling.jitter", &[])?;
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

fn planner_table(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for row in &MEGATRON {
        let list: ParamList = &[("cards", &row[5])];
        let predicted = records.find("multi_gpu.scaling.planner", list)?;
        let published = records.find("multi_gpu.scaling.planner.published", list)?;
        let error = records.find("multi_gpu.scaling.planner.error", list)?;
        let split = predicted.params.get("split").cloned().unwrap_or_default();
        rows.push(vec![
            row[5].to_string(),
            format!("{} × {}", row[0], row[1]),
            split.replace(", recomputing", ""),
            published.text(),
            predicted.text(),
            percent(error.median),
        ]);
    }
    let typical = records.find("multi_gpu.scaling.planner.typical", &[])?;
    Ok(TableData {
        caption: format!(
            "Operations per second of each A100 in Megatron-LM's table (Narayanan et al. 2021), all with recomputing, and what the planner predicts for the same splits. Half of the errors are below {}.",
            typical.text()
        ),
        head: ["GPUs", "layers × width", "split", "published", "planned", "error"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}

fn why_curves(records: &Records) -> Result<Drawing> {
    let mut series = Vec::new();
    let mut words = Vec::new();
    for (model, batch) in measured::BATCHES {
        let list: ParamList = &[("model", &model), ("batch", &batch)];
        let points = curve(records, "multi_gpu.why", list);
        let Some(last) = points.last() else {
            return Err(records.find("multi_gpu.why", list).err().unwrap_or_else(|| {
                lab::Error::message("the simulated steps are missing; measure multi_gpu again")
            }));
        };
        words.push(format!(
            "{model} with a batch of {batch} on {} GPUs: {}",
            last.0,
            Unit::Ratio.format(last.1)
        ));
        let name = format!("{}, batch {}", in_full(model), Unit::Count.format(batch as f64));
        series.push(Series { name, points, band: vec![], joined: true });
    }
    let at = |model: &str, batch: usize, cards: usize| {
        let list: ParamList = &[("model", &model), ("batch", &batch), ("cards", &cards)];
        records.find("multi_gpu.why", list).map(|value| Unit::Number.format(value.median))
    };
    let caption = format!(
        "How much faster a step of the same batch gets on simulated H200 cards, the slowest of which all others wait for. On 64 cards the network for digits is at {} times its speed, and the 7B transformer at {} times.",
        at("mlp", 128, 64)?,
        at("gpt-7b", 4096, 64)?
    );
    let plot = LinePlot {
        x: Axis::new("GPUs", Scale::Log).ticks([1.0, 8.0, 64.0, 512.0, 4096.0]),
        y: Axis::new("speed-up over one GPU", Scale::Log),
        series,
        limits: vec![LimitLine {
            name: "ideal".to_owned(),
            points: vec![(1.0, 1.0), (4096.0, 4096.0)],
        }],
    };
    let alt = format!("Speed-up against the number of GPUs. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Budget, Device, chapter, progress::Progress, record};

    #[test]
    fn what_is_simulated_is_drawn_and_tabled() {
        let folder = tempfile::tempdir().unwrap();
        let machine = lab::machine::Machine::detect();
        for experiment in measured::experiments().into_iter().skip(1) {
            let run =
                chapter::run(&experiment, Budget::Quick, Device::Cpu, None, &Progress::hidden());
            record::save(folder.path(), &machine, "multi_gpu", run.unwrap()).unwrap();
        }
        let records = Records::load(folder.path()).unwrap();
        for figure in [scaling_curves, why_curves] {
            let drawing = figure(&records).unwrap();
            assert!(drawing.svg.starts_with("<svg") && !drawing.caption.contains("NaN"));
            assert!(!drawing.alt.contains("NaN"), "{}", drawing.alt);
        }
        assert_eq!(scaling_table(&records).unwrap().rows.len(), 12);
        assert_eq!(planner_table(&records).unwrap().rows.len(), MEGATRON.len());
        assert!(matches!(predicted_table(&records), Err(lab::Error::NotMeasured { .. })));
    }
}
