//! The studies' pictures and tables, made from one machine's records.

use crate::{
    config::{Model, Settings},
    learning::{optimizer::Rule, schedule::Schedule},
    measured::experiments::studies::{CURES, MAP_BATCHES, RATES},
    runner::curves::few,
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, Cell, HeatMap, LinePlot, Scale, Series},
    record::{ParamList, Value},
    units::plain,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "training.models.curves", draw: draw_models },
        Figure { key: "training.optimizers", draw: draw_optimizers },
        Figure { key: "training.schedule", draw: draw_schedule },
        Figure { key: "training.map", draw: draw_map },
        Figure { key: "training.overfit", draw: draw_overfit },
        Figure { key: "training.cures", draw: draw_cures },
        Figure { key: "training.speed", draw: draw_speed },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "training.models", make: table_models },
        Table { key: "training.optimizers", make: table_optimizers },
        Table { key: "training.batches", make: table_batches },
        Table { key: "training.devices", make: table_devices },
    ]
}

/// A number in a parameter.
fn param(value: &Value, name: &str) -> Option<f64> {
    value.params.get(name)?.parse().ok()
}

/// A line through the values of a key, over a parameter that is a number, each changed by `of`.
pub fn line(
    records: &Records,
    (key, list): (&str, ParamList),
    over: &str,
    name: &str,
    of: impl Fn(f64) -> f64,
) -> Series {
    let mut points: Vec<(f64, [f64; 3])> = records
        .all(key, list)
        .into_iter()
        .filter_map(|v| Some((param(v, over)?, [of(v.median), of(v.low), of(v.high)])))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Series {
        name: name.into(),
        points: points.iter().map(|(x, v)| (*x, v[0])).collect(),
        band: points.iter().map(|(_, v)| (v[1].min(v[2]), v[1].max(v[2]))).collect(),
        joined: true,
    }
}

/// The series that have points.
///
/// # Errors
/// [`Error::NotMeasured`] if there are none; `what` is the key, which begins with its chapter's name.
pub fn some(series: Vec<Series>, what: &str) -> Result<Vec<Series>> {
    let series: Vec<Series> = series.into_iter().filter(|s| !s.points.is_empty()).collect();
    if series.is_empty() {
        return Err(Error::NotMeasured {
            what: what.into(),
            chapter: what.split('.').next().unwrap_or(what).into(),
        });
    }
    Ok(series)
}

/// Each line in words: its first and last point.
pub fn words(series: &[Series], unit: Unit) -> String {
    // A share is drawn in percent.
    let scale = if unit == Unit::Share { 0.01 } else { 1.0 };
    let text = |(x, y): &(f64, f64)| format!("{} at {}", unit.format(scale * y), plain(*x));
    let ends = series.iter().filter_map(|s| Some((&s.name, s.points.first()?, s.points.last()?)));
    let ends = ends.map(|(name, first, last)| format!("{name}: {}, {}", text(first), text(last)));
    format!("{}.", ends.collect::<Vec<_>>().join("; "))
}

/// The place of every point.
pub fn places(series: &[Series]) -> Vec<f64> {
    let longest = series.iter().max_by_key(|s| s.points.len());
    longest.map_or_else(Vec::new, |s| s.points.iter().map(|point| point.0).collect())
}

/// Curves over the epochs, on a logarithmic axis.
fn over_epochs(series: Vec<Series>, label: &str, caption: String) -> Drawing {
    let unit = if label.ends_with("(%)") { Unit::Share } else { Unit::Number };
    let (alt, epochs) = (words(&series, unit), places(&series));
    let plot = LinePlot {
        x: Axis::new("epoch", Scale::Linear).ticks(few(&epochs)),
        y: Axis::new(label, Scale::Log),
        series,
        limits: Vec::new(),
    };
    Drawing { svg: plot.svg(), caption, alt }
}

fn draw_models(records: &Records) -> Result<Drawing> {
    records.find("training.models", &[("model", &Model::ALL[0])])?;
    let wrong = |share: f64| 100.0 * (1.0 - share);
    let lines = Model::ALL.map(|model| {
        line(records, ("training.models.curve", &[("model", &model)]), "epoch", model.name(), wrong)
    });
    let series = some(lines.into(), "training.models.curve")?;
    let best = series
        .iter()
        .filter_map(|s| Some((&s.name, s.points.last()?.1)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let caption = best.map_or_else(String::new, |(name, wrong)| {
        format!(
            "Test pictures that are read wrongly, after each epoch (medians over the seeds, bands: half of them). \
             The model that ends lowest is {name}, with {}. The axis is logarithmic.",
            Unit::Share.format(0.01 * wrong)
        )
    });
    Ok(over_epochs(series, "wrong answers (%)", caption))
}

fn table_models(records: &Records) -> Result<TableData> {
    records.find("training.models", &[("model", &Model::ALL[0])])?;
    let mut rows = Vec::new();
    for model in Model::ALL {
        let Ok(share) = records.find("training.models", &[("model", &model)]) else { continue };
        let count = records.find("training.models.parameters", &[("model", &model)])?;
        let seconds = records
            .find("training.speed.epoch", &[("model", &model), ("device", &lab::Device::Cpu)]);
        let range =
            |of: fn(f64, f64) -> f64, start| share.samples.0.iter().copied().fold(start, of);
        rows.push(vec![
            model.to_string(),
            Unit::Count.format(count.median),
            share.params.get("epochs").cloned().unwrap_or_default(),
            share.text(),
            format!(
                "{} to {}",
                Unit::Share.format(range(f64::min, f64::MAX)),
                Unit::Share.format(range(f64::max, f64::MIN))
            ),
            seconds.map_or_else(|_| "not measured".into(), Value::text),
        ]);
    }
    let seeds = records.find("training.models", &[("model", &Model::ALL[0])])?.samples.0.len();
    Ok(TableData {
        caption: format!(
            "Each model by its recipe, on MNIST: the median of {seeds} seeds, and all of them."
        ),
        head: ["model", "parameters", "epochs", "test accuracy", "seeds", "an epoch"]
            .map(String::from)
            .into(),
        rows,
    })
}

fn draw_optimizers(records: &Records) -> Result<Drawing> {
    records.find("training.optimizers", &[("optimizer", &Rule::Adam)])?;
    let lines = Rule::ALL.map(|rule| {
        let of: (&str, ParamList) = ("training.optimizers.loss", &[("optimizer", &rule)]);
        line(records, of, "epoch", rule.name(), |loss| loss)
    });
    let series = some(lines.into(), "training.optimizers.loss")?;
    let last = |name: &str| {
        series
            .iter()
            .find(|s| s.name == name)
            .and_then(|s| s.points.last())
            .map_or(f64::NAN, |point| point.1)
    };
    let caption = format!(
        "Training loss of 784-128-10 by five rules, each with a usual learning rate. In the last epoch plain descent \
         has {}, with momentum {}, Adam {}.",
        Unit::Number.format(last("sgd")),
        Unit::Number.format(last("momentum")),
        Unit::Number.format(last("adam"))
    );
    Ok(over_epochs(series, "training loss", caption))
}

fn table_optimizers(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for rule in Rule::ALL {
        let share = records.find("training.optimizers", &[("optimizer", &rule)])?;
        let lr = share.params.get("lr").cloned().unwrap_or_default();
        rows.push(vec![rule.to_string(), lr, rule.memory().to_string(), share.text()]);
    }
    Ok(TableData {
        caption: "Ten epochs by each rule: what it keeps for each parameter, and what comes of it."
            .into(),
        head: ["optimizer", "learning rate", "numbers kept", "test accuracy"]
            .map(String::from)
            .into(),
        rows,
    })
}

fn draw_schedule(records: &Records) -> Result<Drawing> {
    let rates = [Settings::default().lr, Settings::of(Model::Mlp).lr];
    let mut lines = Vec::new();
    let mut ends = Vec::new();
    for schedule in Schedule::ALL {
        for lr in rates {
            let list: ParamList = &[("schedule", &schedule), ("lr", &lr)];
            let end = records.find("training.schedule", list)?;
            ends.push(format!("{schedule} from {lr}: {}", end.text()));
            let wrong = |share: f64| 100.0 * (1.0 - share);
            let name = format!("{schedule}, {lr}");
            let of = ("training.schedule.accuracy", list);
            lines.push(line(records, of, "epoch", &name, wrong));
        }
    }
    let series = some(lines, "training.schedule.accuracy")?;
    let caption = format!(
        "Wrong answers on the test pictures, with a learning rate that stays and one that falls. At the end: {}.",
        ends.join("; ")
    );
    Ok(over_epochs(series, "wrong answers (%)", caption))
}

/// The best learning rate for a batch, and its value.
fn best(records: &Records, batch: usize) -> Option<(f64, &Value)> {
    let cells = RATES.into_iter().filter_map(|lr| {
        Some((lr, records.find("training.map", &[("batch", &batch), ("lr", &lr)]).ok()?))
    });
    cells.max_by(|a, b| a.1.median.total_cmp(&b.1.median))
}

fn draw_map(records: &Records) -> Result<Drawing> {
    let first = records.find("training.map", &[("batch", &MAP_BATCHES[0]), ("lr", &RATES[0])])?;
    let (seeds, epochs) = (first.samples.0.len(), first.params["epochs"].clone());
    let mut rows = Vec::new();
    let mut words = Vec::new();
    for batch in MAP_BATCHES {
        let top = best(records, batch).map(|(lr, _)| lr);
        let cells = RATES.into_iter().map(|lr| {
            let value = records.find("training.map", &[("batch", &batch), ("lr", &lr)]);
            let share = value.map_or(f64::NAN, |value| value.median);
            words.push(format!("batch {batch}, learning rate {lr}: {}", Unit::Share.format(share)));
            Cell {
                // From 90% on, where the differences are; NaN has no tint.
                tint: ((share - 0.9) / 0.08).max(0.0).powi(2),
                text: format!("{:.1}", 100.0 * share),
                framed: top.is_some_and(|top| top.total_cmp(&lr).is_eq()),
            }
        });
        rows.push((batch.to_string(), cells.collect()));
    }
    let ends = [MAP_BATCHES[0], MAP_BATCHES[MAP_BATCHES.len() - 1]]
        .map(|batch| best(records, batch).map_or(f64::NAN, |(lr, _)| lr));
    let map = HeatMap {
        x: "learning rate".into(),
        y: "batch".into(),
        columns: RATES.map(|lr| lr.to_string()).into(),
        rows,
    };
    Ok(Drawing {
        svg: map.svg(),
        caption: format!(
            "Test accuracy in percent after {epochs} epochs of Adam, medians of {seeds} seeds. The best of each row has \
             a frame: for the smallest batch it is {}, for the largest {}.",
            ends[0], ends[1]
        ),
        alt: format!("{}.", words.join("; ")),
    })
}

fn table_batches(records: &Records) -> Result<TableData> {
    let usual = Settings::default().lr;
    let mut rows = Vec::new();
    for batch in MAP_BATCHES {
        let same = records.find("training.map", &[("batch", &batch), ("lr", &usual)])?;
        let Some((lr, tuned)) = best(records, batch) else { continue };
        let epochs = param(tuned, "epochs").unwrap_or(f64::NAN);
        rows.push(vec![
            batch.to_string(),
            Unit::Count.format(epochs * (60_000.0 / batch as f64).ceil()),
            same.text(),
            tuned.text(),
            lr.to_string(),
        ]);
    }
    Ok(TableData {
        caption: format!(
            "The same number of epochs in larger and larger batches: with the learning rate {usual} for all, and with \
             the best one of each row of the map."
        ),
        head: ["batch", "steps", "same rate", "best rate", "which is"].map(String::from).into(),
        rows,
    })
}

fn draw_overfit(records: &Records) -> Result<Drawing> {
    let end = records.find("training.overfit", &[("cure", &CURES[0].0)])?;
    let percent = |share: f64| 100.0 * share;
    let of = |cure: &str, set: &str, name: &str| {
        let list: ParamList = &[("cure", &cure), ("set", &set)];
        line(records, ("training.overfit.accuracy", list), "epoch", name, percent)
    };
    let series = some(
        vec![
            of("none", "train", "training"),
            of("none", "test", "test"),
            of("all", "test", "test, all cures"),
        ],
        "training.overfit.accuracy",
    )?;
    let known = series[0].points.last().map_or(f64::NAN, |point| point.1);
    let alt = words(&series, Unit::Share);
    let plot = LinePlot {
        x: Axis::new("epoch", Scale::Log),
        y: Axis::new("right answers (%)", Scale::Linear).range(60.0, 100.0),
        series,
        limits: Vec::new(),
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "A thousand pictures, learned by heart: in the end {} of them are right, and {} of the test \
             pictures ({} seeds; the bands hold half of them).",
            Unit::Share.format(0.01 * known),
            end.text(),
            end.samples.0.len()
        ),
        alt,
    })
}

fn draw_cures(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    let mut alt = Vec::new();
    for (cure, _) in CURES {
        let value = records.find("training.overfit", &[("cure", &cure)])?;
        alt.push(format!("{cure}: {}", value.text()));
        let percent = |share: f64| 100.0 * share;
        bars.push(Bar {
            name: cure.into(),
            value: Some((percent(value.median), percent(value.low), percent(value.high))),
            text: value.text(),
        });
    }
    let none = records.find("training.overfit", &[("cure", &CURES[0].0)])?.median;
    let alone = CURES[1..5].iter().filter_map(|(cure, _)| {
        Some((*cure, records.find("training.overfit", &[("cure", cure)]).ok()?.median))
    });
    let (cure, share) = alone.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("none", none));
    let svg =
        BarPlot { axis: Axis::new("test accuracy (%)", Scale::Linear), bars, limits: Vec::new() }
            .svg();
    Ok(Drawing {
        svg,
        caption: format!(
            "What helps against learning a thousand pictures by heart. Alone, {cure} does most: {:.1} points.",
            100.0 * (share - none)
        ),
        alt: format!("{}.", alt.join("; ")),
    })
}

/// The devices with a speed.
fn devices(records: &Records) -> Vec<String> {
    let all = records.all("training.speed", &[]);
    let mut names: Vec<String> =
        all.iter().filter_map(|value| value.params.get("device").cloned()).collect();
    names.sort();
    names.dedup();
    names
}

fn draw_speed(records: &Records) -> Result<Drawing> {
    let devices = devices(records);
    let mut lines = Vec::new();
    for device in &devices {
        for model in Model::ALL {
            let name = match &devices[..] {
                [_] => model.to_string(),
                _ => format!("{model}, {device}"),
            };
            let list: ParamList = &[("model", &model), ("device", device)];
            lines.push(line(records, ("training.speed", list), "batch", &name, |rate| rate));
        }
    }
    let series = some(lines, "training.speed")?;
    let gain = |name: &str| {
        let points = &series.iter().find(|s| s.name.starts_with(name))?.points;
        Some(points.iter().map(|p| p.1).fold(0.0, f64::max) / points.first()?.1)
    };
    let caption = format!(
        "Pictures that a model learns from in a second, by the size of a batch. From the smallest batch to the best one \
         the perceptron gains {}, the residual network {}.",
        Unit::Ratio.format(gain("mlp").unwrap_or(f64::NAN)),
        Unit::Ratio.format(gain("resnet").unwrap_or(f64::NAN))
    );
    let alt = words(&series, Unit::ImagesPerSecond);
    let plot = LinePlot {
        x: Axis::new("pictures of a batch", Scale::Log).ticks(places(&series)),
        y: Axis::new("images/s", Scale::Log),
        series,
        limits: Vec::new(),
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// From which batch on a GPU learns from more pictures a second than the CPU.
fn table_devices(records: &Records) -> Result<TableData> {
    let gpu = devices(records).into_iter().find(|device| device != "cpu");
    let Some(gpu) = gpu else {
        return Err(Error::NotMeasured {
            what: "training.speed on a GPU".into(),
            chapter: "training".into(),
        });
    };
    let mut rows = Vec::new();
    for model in Model::ALL {
        let rates = |device: &str| {
            line(
                records,
                ("training.speed", &[("model", &model), ("device", &device)]),
                "batch",
                "",
                |rate| rate,
            )
            .points
        };
        let (cpu, gpu) = (rates("cpu"), rates(&gpu));
        let pairs = cpu.iter().filter_map(|(batch, slow)| {
            let (_, fast) = gpu.iter().find(|(other, _)| other.total_cmp(batch).is_eq())?;
            Some((*batch, fast / slow))
        });
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let pays = pairs.iter().find(|(_, ratio)| *ratio > 1.0);
        let most = pairs.iter().map(|(_, ratio)| *ratio).fold(f64::NAN, f64::max);
        rows.push(vec![
            model.to_string(),
            pays.map_or_else(|| "none of these".into(), |(batch, _)| format!("{batch}")),
            Unit::Ratio.format(most),
        ]);
    }
    Ok(TableData {
        caption: "From which batch on the GPU is the faster one, and by how much at best.".into(),
        head: ["model", "GPU pays from batch", "at best"].map(String::from).into(),
        rows,
    })
}
