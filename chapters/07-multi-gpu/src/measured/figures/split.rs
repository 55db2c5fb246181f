//! The part's pictures and tables, made from one machine's records.

use crate::measured::experiments::split::{
    BUCKETS, HABITS, MICROS, MISTAKEN_RANKS, MISTAKEN_RATES, MISTAKES, RANKS, WIRES, formula, ways,
};
use crate::split::zero::Level;
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
    units::scientific,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "multi_gpu.equality", draw: draw_equality },
        Figure { key: "multi_gpu.claims", draw: draw_claims },
        Figure { key: "multi_gpu.pipeline", draw: draw_pipeline },
        Figure { key: "multi_gpu.zero", draw: draw_zero },
        Figure { key: "multi_gpu.overlap", draw: draw_overlap },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "multi_gpu.equality", make: table_equality },
        Table { key: "multi_gpu.equality.dfdx", make: table_dfdx },
        Table { key: "multi_gpu.claims", make: table_claims },
        Table { key: "multi_gpu.mistakes", make: table_mistakes },
        Table { key: "multi_gpu.pipeline", make: table_pipeline },
        Table { key: "multi_gpu.zero", make: table_zero },
        Table { key: "multi_gpu.overlap", make: table_overlap },
    ]
}

fn heads<const N: usize>(heads: [&str; N]) -> Vec<String> {
    heads.map(str::to_owned).into()
}

/// A difference for people: none at all is worth words, and few are near 1.
fn difference(value: f64) -> String {
    if value == 0.0 { "0, bit for bit".into() } else { scientific(value, 2) }
}

/// The difference of a way of the from-scratch network under Adam.
fn of_way<'r>(records: &'r Records, way: &str, ranks: usize, rule: &str) -> Result<&'r Value> {
    let list: ParamList =
        &[("model", &"scratch"), ("rule", &rule), ("way", &way), ("ranks", &ranks)];
    records.find("multi_gpu.equality", list)
}

fn draw_equality(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    let (mut most, mut exact) = (0.0_f64, 0);
    for (way, ranks) in ways() {
        let value = of_way(records, &way.name(), ranks, "adam")?;
        most = most.max(value.median);
        let spread = (value.median > 0.0).then_some((value.median, value.low, value.high));
        exact += usize::from(spread.is_none());
        let plural = if ranks == 1 { "rank" } else { "ranks" };
        let name = format!("{}, {ranks} {plural}", way.label());
        bars.push(Bar { name, value: spread, text: difference(value.median) });
    }
    let moved = records.find("multi_gpu.equality.moved", &[("rule", &"adam")])?;
    let caption = format!(
        "The largest difference of any parameter from training on one device, after 20 steps of Adam on the same \
         batches: {} at most, and none at all for {exact} of {} ways. The steps themselves moved a parameter by up to {}.",
        difference(most),
        bars.len(),
        moved.text()
    );
    let alt = format!("Bars on a logarithmic axis. {}.", Bar::in_words(&bars));
    let plot = BarPlot {
        axis: Axis::new("largest difference of a parameter", Scale::Log).range(1e-9, 1e-4),
        bars,
        limits: vec![("tested: below 10⁻⁵".into(), 1e-5)],
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_equality(records: &Records) -> Result<TableData> {
    let rows = ways().into_iter().map(|(way, ranks)| {
        let of = |rule| Ok::<_, Error>(of_way(records, &way.name(), ranks, rule)?.median);
        let (sgd, adam) = (of("sgd")?, of("adam")?);
        let list: ParamList =
            &[("model", &"scratch"), ("rule", &"adam"), ("way", &way.name()), ("ranks", &ranks)];
        let loss = records.find("multi_gpu.equality.loss", list)?;
        Ok(vec![
            way.label(),
            ranks.to_string(),
            difference(sgd),
            difference(adam),
            format!("{:.6}", loss.median),
        ])
    });
    Ok(TableData {
        caption: "The from-scratch network 784-64-48-32-10 after 20 steps on batches of 97 pictures: the largest \
                  difference of any parameter from one device, and the loss of the last batch."
            .into(),
        head: heads(["way", "ranks", "momentum", "Adam", "loss (Adam)"]),
        rows: rows.collect::<Result<_>>()?,
    })
}

fn table_dfdx(records: &Records) -> Result<TableData> {
    let all = [
        ("mlp", "data", 1),
        ("mlp", "data", 2),
        ("mlp", "data", 4),
        ("mlp", "layers", 2),
        ("cnn", "data", 2),
    ];
    let rows = all.into_iter().map(|(model, way, ranks)| {
        let of = |rule: &str| {
            let list: ParamList =
                &[("model", &model), ("rule", &rule), ("way", &way), ("ranks", &ranks)];
            Ok::<_, Error>(difference(records.find("multi_gpu.equality", list)?.median))
        };
        let model = if model == "mlp" { "perceptron, 20 steps" } else { "convolutions, 5 steps" };
        let way = if way == "data" { "data parallel" } else { "layers" };
        Ok(vec![model.into(), way.into(), ranks.to_string(), of("sgd")?, of("adam")?])
    });
    Ok(TableData {
        caption:
            "Chapter 4's models on dfdx: the largest difference of any parameter from one device."
                .into(),
        head: heads(["model", "way", "ranks", "gradient descent", "Adam"]),
        rows: rows.collect::<Result<_>>()?,
    })
}

/// What the habits are called in a picture.
fn habit(name: &str) -> &'static str {
    match name {
        "same" => "the same batch, split",
        "grown" => "a batch for each rank",
        _ => "a batch for each rank, rate × p",
    }
}

/// The accuracy of a habit; with one rank all are the same.
fn of_habit<'r>(records: &'r Records, how: &str, ranks: usize) -> Result<&'r Value> {
    let how = if ranks == 1 { "same" } else { how };
    records.find("multi_gpu.claims", &[("how", &how), ("ranks", &ranks)])
}

fn draw_claims(records: &Records) -> Result<Drawing> {
    let (mut series, mut words) = (Vec::new(), Vec::new());
    for (how, ..) in HABITS {
        let values: Vec<&Value> =
            RANKS.iter().map(|ranks| of_habit(records, how, *ranks)).collect::<Result<_>>()?;
        let text: Vec<String> = values.iter().map(|value| value.text()).collect();
        words.push(format!("{}: {}", habit(how), text.join(", ")));
        series.push(Series {
            name: habit(how).into(),
            points: RANKS.iter().zip(&values).map(|(p, v)| (*p as f64, 100.0 * v.median)).collect(),
            band: values.iter().map(|v| (100.0 * v.low, 100.0 * v.high)).collect(),
            joined: true,
        });
    }
    let of = |how, ranks| Ok::<_, Error>(of_habit(records, how, ranks)?.text());
    let caption = format!(
        "Test accuracy after three epochs of MNIST, median and quartiles of five seeds. The same batch split over 8 \
         ranks reads {}, one device {}. A batch for each rank means fewer steps: {} on 8 ranks, and {} with a rate 8 \
         times as large.",
        of("same", 8)?,
        of("same", 1)?,
        of("grown", 8)?,
        of("scaled", 8)?
    );
    let plot = LinePlot {
        x: Axis::new("ranks", Scale::Log).ticks([1.0, 2.0, 4.0, 8.0]),
        y: Axis::new("test accuracy in %", Scale::Linear),
        series,
        limits: vec![],
    };
    let alt = format!("Lines over 1, 2, 4 and 8 ranks. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_claims(records: &Records) -> Result<TableData> {
    let mut all: Vec<(String, &str, usize)> = Vec::new();
    for (how, ..) in HABITS {
        let ranks = RANKS.into_iter().filter(|ranks| how == "same" || *ranks > 1);
        all.extend(ranks.map(|ranks| (habit(how).to_owned(), how, ranks)));
    }
    all.push(("the layers, split".into(), "layers", 2));
    all.push(("the products, split".into(), "tensor", 2));
    let rows = all.into_iter().map(|(name, how, ranks)| {
        let of = |key: &str| records.find(key, &[("how", &how), ("ranks", &ranks)]);
        let accuracy = of("multi_gpu.claims")?;
        let spread = [accuracy.low, accuracy.high].map(|share| Unit::Share.format(share));
        Ok(vec![
            name,
            ranks.to_string(),
            of("multi_gpu.claims.steps")?.text(),
            accuracy.text(),
            spread.join(" to "),
            of("multi_gpu.claims.read_differently")?.text(),
        ])
    });
    Ok(TableData {
        caption: "Three epochs of MNIST from five seeds: the median test accuracy, its quartiles, and how many of the \
                  10,000 test pictures are read differently than on one device with the same seed."
            .into(),
        head: heads(["what is split", "ranks", "steps", "accuracy", "quartiles", "read differently"]),
        rows: rows.collect::<Result<_>>()?,
    })
}

fn table_mistakes(records: &Records) -> Result<TableData> {
    let words = |mistake: &str| match mistake {
        "none" => "none",
        "grown" => "a batch for each rank, the same rate",
        "grown-and-scaled" => "a batch for each rank, rate × p",
        "sum-of-means" => "the ranks' mean gradients added up",
        "divided-twice" => "the mean taken twice",
        _ => "a batch for each rank, and the mean taken twice",
    };
    let mut head = vec!["mistake".to_owned()];
    for lr in MISTAKEN_RATES {
        head.extend(MISTAKEN_RANKS.map(|ranks| format!("η = {lr}, {ranks} ranks")));
    }
    let rows = MISTAKES.map(|mistake| {
        let mut row = vec![words(mistake).to_owned()];
        for lr in MISTAKEN_RATES {
            for ranks in MISTAKEN_RANKS {
                let list: ParamList = &[("mistake", &mistake), ("lr", &lr), ("ranks", &ranks)];
                row.push(records.find("multi_gpu.mistakes", list)?.text());
            }
        }
        Ok(row)
    });
    Ok(TableData {
        caption: "Test accuracy after three epochs of MNIST, the median of three seeds. Every row but the first is \
                  another training, not a split one."
            .into(),
        head,
        rows: rows.into_iter().collect::<Result<_>>()?,
    })
}

/// A value of the pipeline's records.
fn of_pipeline<'r>(
    records: &'r Records,
    key: &str,
    (device, schedule): (&str, &str),
    (stages, micros): (usize, usize),
) -> Result<&'r Value> {
    let list: ParamList =
        &[("device", &device), ("stages", &stages), ("micros", &micros), ("schedule", &schedule)];
    records.find(key, list)
}

fn draw_pipeline(records: &Records) -> Result<Drawing> {
    let (mut series, mut words, mut off) = (Vec::new(), Vec::new(), 0.0_f64);
    for stages in [2, 4] {
        let of = |micros: &usize| {
            let sides = ("equal", "1f1b");
            of_pipeline(records, "multi_gpu.pipeline", sides, (stages, *micros))
        };
        let values: Vec<&Value> = MICROS.iter().map(of).collect::<Result<_>>()?;
        for (value, micros) in values.iter().zip(MICROS) {
            off = off.max((value.median - formula(stages, micros)).abs());
        }
        let text: Vec<String> = values.iter().map(|value| value.text()).collect();
        words.push(format!("{stages} stages: {}", text.join(", ")));
        series.push(Series {
            name: format!("{stages} stages"),
            points: MICROS
                .iter()
                .zip(&values)
                .map(|(m, v)| (*m as f64, 100.0 * v.median))
                .collect(),
            band: values.iter().map(|v| (100.0 * v.low, 100.0 * v.high)).collect(),
            joined: true,
        });
    }
    let limits = [2_u8, 4].map(|stages| LimitLine {
        name: format!("(p − 1)/(m + p − 1), p = {stages}"),
        points: (0..=40)
            .map(|at| {
                let m = 16_f64.powf(f64::from(at) / 40.0);
                let p = f64::from(stages);
                (m, 100.0 * (p - 1.0) / (m + p - 1.0))
            })
            .collect(),
    });
    let of = |stages, micros| {
        let found = of_pipeline(records, "multi_gpu.pipeline", ("equal", "1f1b"), (stages, micros));
        Ok::<_, Error>(found?.text())
    };
    let caption = format!(
        "The share of its time in which a rank of a pipeline waits, with equal stages under 1F1B. Four stages wait {} of the time \
         with one micro-batch, {} with 16. Measured and predicted differ by {} points at most.",
        of(4, 1)?,
        of(4, 16)?,
        Unit::Number.format(100.0 * off)
    );
    let plot = LinePlot {
        x: Axis::new("micro-batches m", Scale::Log).ticks(MICROS.map(|m| m as f64)),
        y: Axis::new("time spent waiting in %", Scale::Linear).range(0.0, 85.0),
        series,
        limits: limits.into(),
    };
    let alt = format!("Lines over 1, 2, 4, 8 and 16 micro-batches. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_pipeline(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let all = [("equal", 2), ("equal", 4), ("unequal", 2), ("unequal", 4), ("cpu", 2)];
    for (device, stages) in all {
        let name = match device {
            "equal" => "equal, paced",
            "unequal" => "slow first, paced",
            _ => "this CPU",
        };
        for micros in [1, 4, 16] {
            let of = |key: &str, schedule: &str| {
                let key = format!("multi_gpu.pipeline{key}");
                let found = of_pipeline(records, &key, (device, schedule), (stages, micros));
                Ok::<_, Error>(found?.text())
            };
            rows.push(vec![
                format!("{stages}, {name}"),
                micros.to_string(),
                Unit::Share.format(formula(stages, micros)),
                of(".predicted", "1f1b")?,
                of("", "gpipe")?,
                of("", "1f1b")?,
                of(".kept", "gpipe")?,
                of(".kept", "1f1b")?,
            ]);
        }
    }
    let head = [
        "stages",
        "m",
        "formula",
        "from the stages' times",
        "GPipe waits",
        "1F1B waits",
        "GPipe keeps",
        "1F1B keeps",
    ];
    Ok(TableData {
        caption: "Time spent waiting, the mean of the ranks: by the formula for equal stages, by 1F1B's schedule with \
                  each stage's measured time, and as measured; and the activations that the first stage keeps at most. \
                  A slow first stage takes twice as long as the others."
            .into(),
        head: heads(head),
        rows,
    })
}

/// A value of `ZeRO`'s records.
fn of_zero<'r>(records: &'r Records, key: &str, level: Level, ranks: usize) -> Result<&'r Value> {
    records.find(key, &[("level", &level.number()), ("ranks", &ranks)])
}

/// What a level is called.
fn level_name(level: Level) -> &'static str {
    match level {
        Level::Nothing => "data parallel",
        Level::Optimizer => "stage 1: Adam's means cut",
        Level::Gradients => "stage 2: gradients too",
        Level::Parameters => "stage 3: parameters too",
    }
}

fn draw_zero(records: &Records) -> Result<Drawing> {
    const MIB: f64 = 1_048_576.0;
    let (mut series, mut words) = (Vec::new(), Vec::new());
    for level in Level::ALL {
        let values: Vec<&Value> = RANKS
            .iter()
            .map(|ranks| of_zero(records, "multi_gpu.zero", level, *ranks))
            .collect::<Result<_>>()?;
        let text: Vec<String> = values.iter().map(|value| value.text()).collect();
        words.push(format!("{}: {}", level_name(level), text.join(", ")));
        series.push(Series {
            name: level_name(level).into(),
            points: RANKS.iter().zip(&values).map(|(p, v)| (*p as f64, v.median / MIB)).collect(),
            band: Vec::new(),
            joined: true,
        });
    }
    let of = |level| Ok::<_, Error>(of_zero(records, "multi_gpu.zero", level, 8)?.text());
    let caption = format!(
        "What one rank holds from step to step, counted in its buffers: on 8 ranks {} without ZeRO, {} in stage 1, {} \
         in stage 2, {} in stage 3.",
        of(Level::Nothing)?,
        of(Level::Optimizer)?,
        of(Level::Gradients)?,
        of(Level::Parameters)?
    );
    let plot = LinePlot {
        x: Axis::new("ranks", Scale::Log).ticks([1.0, 2.0, 4.0, 8.0]),
        y: Axis::new("MiB on one rank", Scale::Linear),
        series,
        limits: vec![],
    };
    let alt = format!("Lines over 1, 2, 4 and 8 ranks. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_zero(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for level in Level::ALL {
        for ranks in [2, 4, 8] {
            let of = |key: &str| {
                let found = of_zero(records, &format!("multi_gpu.zero{key}"), level, ranks);
                Ok::<_, Error>(found?.text())
            };
            rows.push(vec![
                level_name(level).into(),
                ranks.to_string(),
                of(".predicted")?,
                of("")?,
                of(".sent.predicted")?,
                of(".sent")?,
            ]);
        }
    }
    Ok(TableData {
        caption: "The network 784-512-256-10 with Adam in f32: the bytes that the fullest rank holds from step to step, \
                  and those that the busiest rank sends in a step, predicted and counted."
            .into(),
        head: heads(["what is cut", "ranks", "holds, predicted", "holds", "sends, predicted", "sends"]),
        rows,
    })
}

/// A value of the overlap's records.
fn of_overlap<'r>(records: &'r Records, key: &str, wire: &str, bucket: &str) -> Result<&'r Value> {
    records.find(key, &[("wire", &wire), ("bucket", &bucket)])
}

fn draw_overlap(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    for (wire, _) in WIRES {
        for (bucket, _) in BUCKETS.into_iter().rev() {
            let when = match bucket {
                "all" => "all at the end",
                "layer" => "each layer at once",
                _ => "buckets of 2 MiB",
            };
            let found = of_overlap(records, "multi_gpu.overlap", wire, bucket);
            bars.push(Bar::of(&format!("{wire}: {when}"), found, 1e-3)?);
        }
    }
    let of = |key: &str, wire, bucket| {
        Ok::<_, Error>(
            of_overlap(records, &format!("multi_gpu.overlap{key}"), wire, bucket)?.text(),
        )
    };
    let backward = records.find("multi_gpu.overlap.backward", &[])?;
    let caption = format!(
        "From the start of the backward pass to the last summed gradient, two ranks. At 100 MB/s, gradients sent layer by \
         layer take {} instead of {}, {} as fast. Through this machine's memory the gain is {}.",
        of("", "100 MB/s", "layer")?,
        of("", "100 MB/s", "all")?,
        of(".gain", "100 MB/s", "layer")?,
        of(".gain", "memory", "layer")?
    );
    let alt = format!("Bars of time. {}.", Bar::in_words(&bars));
    let plot = BarPlot {
        axis: Axis::new("milliseconds", Scale::Linear),
        bars,
        limits: vec![("the backward pass alone".into(), 1e3 * backward.median)],
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_overlap(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (wire, _) in WIRES {
        for (bucket, _) in BUCKETS {
            let of = |key: &str| {
                let found = of_overlap(records, &format!("multi_gpu.overlap{key}"), wire, bucket);
                Ok::<_, Error>(found?.text())
            };
            rows.push(vec![
                wire.into(),
                if bucket == "layer" { "each layer".into() } else { bucket.into() },
                of(".predicted")?,
                of("")?,
                of(".gain")?,
            ]);
        }
    }
    Ok(TableData {
        caption: "Backward pass and all-reduce of two ranks, by wire and size of the buckets; the gain is over sending \
                  all at the end."
            .into(),
        head: heads(["wire", "bucket", "predicted", "measured", "gain"]),
        rows,
    })
}
