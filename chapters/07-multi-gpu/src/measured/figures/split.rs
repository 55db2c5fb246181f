//! The part's figures and tables, made from one machine's records.

use crate::measured::experiments::split::{
    CLAIMED_STEPS, CLAIMS, EQUALITY, HABITS, KEPT, LOSS, MICROS, MOVED, PIPELINE,
    PIPELINE_PREDICTED, RANKS, READ_DIFFERENTLY, ways,
};
use crate::split::schedule::bubble;
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Limits, Lines},
    key::Quantity,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::Grid,
    units::scientific,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: EQUALITY.name, draw: draw_equality },
        Figure { key: CLAIMS.name, draw: draw_claims },
        Figure { key: PIPELINE.name, draw: draw_pipeline },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: EQUALITY.name, make: table_equality },
        Table { key: CLAIMS.name, make: table_claims },
        Table { key: PIPELINE.name, make: table_pipeline },
    ]
}

/// A difference, formatted: zero in words, and few are near 1.
fn difference(value: f64) -> String {
    if value == 0.0 { "0, bit for bit".into() } else { scientific(value, 2) }
}

/// A difference of a model that is trained in a way.
fn of_way(key: Key, model: &str, way: &str, ranks: usize, rule: &str) -> Quantity {
    key.at(&[("model", &model), ("rule", &rule), ("way", &way), ("ranks", &ranks)])
}

fn draw_equality(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    let (mut most, mut exact) = (0.0_f64, 0);
    for (way, ranks) in ways() {
        let value = records.get(of_way(EQUALITY, "scratch", &way.name(), ranks, "adam"))?;
        most = most.max(value.median);
        let spread = (value.median > 0.0).then_some((value.median, value.low, value.high));
        exact += usize::from(spread.is_none());
        let plural = if ranks == 1 { "rank" } else { "ranks" };
        let name = format!("{}, {ranks} {plural}", way.label());
        bars.push(Bar { name, value: spread, text: difference(value.median) });
    }
    let caption = format!(
        "The largest difference of any parameter from training on one device, after 20 steps of Adam on the same \
         batches: {} at most, and zero for {exact} of {} ways. The steps themselves moved a parameter by up to {}.",
        difference(most),
        bars.len(),
        records.text(MOVED.at(&[("rule", &"adam")]))?
    );
    let plot = BarPlot {
        axis: Axis::new("largest difference of a parameter", Scale::Log).range(1e-9, 1e-4),
        bars,
        limits: vec![("tested: below 10⁻⁵".into(), 1e-5)],
    };
    Ok(plot.drawing(caption))
}

fn table_equality(records: &Records) -> Result<TableData> {
    let rows = ways().into_iter().map(|(way, ranks)| {
        let of = |key, rule| {
            let found = records.get(of_way(key, "scratch", &way.name(), ranks, rule));
            found.map(|value| value.median)
        };
        Ok(vec![
            way.label(),
            ranks.to_string(),
            difference(of(EQUALITY, "sgd")?),
            difference(of(EQUALITY, "adam")?),
            format!("{:.6}", of(LOSS, "adam")?),
        ])
    });
    Ok(TableData {
        caption: "The from-scratch network 784-64-48-32-10 after 20 steps on batches of 97 images: the largest \
                  difference of any parameter from one device, and the loss of the last batch."
            .into(),
        head: ["way", "ranks", "momentum", "Adam", "loss (Adam)"].map(str::to_owned).into(),
        rows: rows.collect::<Result<_>>()?,
    })
}

/// The habits' names in a figure.
fn habit(name: &str) -> &'static str {
    match name {
        "same" => "the same batch, split",
        "grown" => "a batch for each rank",
        _ => "a batch for each rank, rate × p",
    }
}

/// The accuracy of a habit; with one rank all are the same.
fn of_habit(how: &str, ranks: usize) -> Quantity {
    let how = if ranks == 1 { "same" } else { how };
    CLAIMS.at(&[("how", &how), ("ranks", &ranks)])
}

fn draw_claims(records: &Records) -> Result<Drawing> {
    let lines = HABITS.map(|(how, ..)| {
        let points = RANKS.map(|ranks| Ok((ranks as f64, records.get(of_habit(how, ranks))?)));
        let points = points.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(Series::of(habit(how), &points, |share| 100.0 * share))
    });
    let of = |how, ranks| records.text(of_habit(how, ranks));
    let caption = format!(
        "Test accuracy after three epochs of MNIST, median and quartiles of five seeds. The same batch split over 8 \
         ranks reaches {}, one device {}. A batch for each rank means fewer steps: {} on 8 ranks, and {} with a rate 8 \
         times as large.",
        of("same", 8)?,
        of("same", 1)?,
        of("grown", 8)?,
        of("scaled", 8)?
    );
    let plot = LinePlot {
        x: Axis::new("ranks", Scale::Log).ticks(RANKS.map(|ranks| ranks as f64)),
        y: Axis::new("test accuracy in %", Scale::Linear),
        series: lines.into_iter().collect::<Result<_>>()?,
        limits: vec![],
    };
    Ok(plot.drawing(caption))
}

fn table_claims(records: &Records) -> Result<TableData> {
    let habits = HABITS.into_iter().flat_map(|(how, ..)| {
        let ranks = RANKS.into_iter().filter(move |ranks| how == "same" || *ranks > 1);
        ranks.map(move |ranks| (habit(how), how, ranks))
    });
    let models =
        [("the layers, split", "layers", 2), ("the products, split", "tensor", 2)].into_iter();
    let of = |key: Key| {
        move |(_, how, ranks): &(&str, &str, usize)| key.at(&[("how", how), ("ranks", ranks)])
    };
    let quartiles = |row: &_| {
        let ends = |accuracy: &Value| [accuracy.low, accuracy.high].map(|x| Unit::Share.format(x));
        records.get(of(CLAIMS)(row)).map_or("–".to_owned(), |found| ends(found).join(" to "))
    };
    Grid::new(habits.chain(models))
        .column("what is split", |(name, ..)| *name)
        .column("ranks", |(.., ranks)| ranks.to_string())
        .column("steps", of(CLAIMED_STEPS))
        .column("accuracy", of(CLAIMS))
        .column("quartiles", quartiles)
        .column("classified differently", of(READ_DIFFERENTLY))
        .table(
            records,
            "Three epochs of MNIST from five seeds: the median test accuracy, its quartiles, and how many of the \
             10,000 test images are classified differently from one device with the same seed.",
        )
}

/// A value of the pipeline's records.
fn of_pipeline(key: Key, device: &str, schedule: &str, stages: usize) -> Quantity {
    key.at(&[("device", &device), ("stages", &stages), ("schedule", &schedule)])
}

fn draw_pipeline(records: &Records) -> Result<Drawing> {
    let of = |stages| of_pipeline(PIPELINE, "equal", "1f1b", stages);
    let mut off = 0.0_f64;
    for stages in [2, 4] {
        for micros in MICROS {
            let value = records.get(of(stages).with("micros", micros))?;
            off = off.max((value.median - bubble(stages, micros)).abs());
        }
    }
    let text = |micros: usize| records.text(of(4).with("micros", micros));
    let caption = format!(
        "The fraction of its time in which a rank of a pipeline waits, with equal stages under 1F1B. Four stages wait {} of the time \
         with one micro-batch, {} with 16. Measured and predicted differ by {} percentage points at most.",
        text(1)?,
        text(16)?,
        Unit::Number.format(100.0 * off)
    );
    let mut plot = Lines {
        over: "micros",
        x: Axis::new("micro-batches m", Scale::Log).ticks(MICROS.map(|m| m as f64)),
        y: Axis::new("time spent waiting in %", Scale::Linear).range(0.0, 85.0),
        scale: |share| 100.0 * share,
        lines: [2, 4].map(|stages| (format!("{stages} stages"), of(stages))).into(),
        limits: Limits::None,
    }
    .plot(records)?;
    plot.limits.extend([2_u8, 4].map(|stages| {
        LimitLine {
            name: format!("(p − 1)/(m + p − 1), p = {stages}"),
            points: (0..=40)
                .map(|at| {
                    let m = 16_f64.powf(f64::from(at) / 40.0);
                    let p = f64::from(stages);
                    (m, 100.0 * (p - 1.0) / (m + p - 1.0))
                })
                .collect(),
        }
    }));
    Ok(plot.drawing(caption))
}

fn table_pipeline(records: &Records) -> Result<TableData> {
    let all = [("equal", 2), ("equal", 4), ("unequal", 2), ("unequal", 4), ("cpu", 2)];
    let rows = all.into_iter().flat_map(|(device, stages)| [1, 4, 16].map(|m| (device, stages, m)));
    let of = |key: Key, schedule: &'static str| {
        move |(device, stages, micros): &(&str, usize, usize)| {
            of_pipeline(key, device, schedule, *stages).with("micros", micros)
        }
    };
    Grid::new(rows)
        .column("stages", |(device, stages, _)| {
            let name = match *device {
                "equal" => "equal, paced",
                "unequal" => "slow first, paced",
                _ => "this CPU",
            };
            format!("{stages}, {name}")
        })
        .column("m", |(_, _, micros)| micros.to_string())
        .column("formula", |(_, stages, micros)| Unit::Share.format(bubble(*stages, *micros)))
        .column("from the stages' times", of(PIPELINE_PREDICTED, "1f1b"))
        .column("GPipe waits", of(PIPELINE, "gpipe"))
        .column("1F1B waits", of(PIPELINE, "1f1b"))
        .column("GPipe keeps", of(KEPT, "gpipe"))
        .column("1F1B keeps", of(KEPT, "1f1b"))
        .table(
            records,
            "Time spent waiting, the mean of the ranks: by the formula for equal stages, by 1F1B's schedule with each \
             stage's measured time, and as measured; and the activations that the first stage keeps at most. A slow \
             first stage takes twice as long as the others.",
        )
}
