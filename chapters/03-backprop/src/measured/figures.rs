//! The chapter's pictures and tables, made from one machine's records.

use crate::{count::Model, ladder::ladder, measured::experiments::STEPS};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LinePlot, Scale, Series},
    record::{ParamList, Value},
    units::{plain, scientific},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "backprop.check", draw: draw_check },
        Figure { key: "backprop.ladder", draw: |records| draw_ladder(records, 32) },
        Figure { key: "backprop.ladder.128", draw: |records| draw_ladder(records, 128) },
        Figure { key: "backprop.race", draw: draw_race },
        Figure { key: "backprop.step", draw: draw_step },
        Figure { key: "backprop.memory", draw: draw_memory },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "backprop.ladder", make: table_ladder },
        Table { key: "backprop.race", make: table_race },
        Table { key: "backprop.vgg16", make: table_vgg16 },
    ]
}

fn draw_check(records: &Records) -> Result<Drawing> {
    let mut series = Vec::new();
    let mut best = Vec::new();
    for numbers in ["f64", "f32"] {
        let mut points = Vec::new();
        for h in STEPS {
            let list: ParamList = &[("numbers", &numbers), ("h", &format!("{h:e}"))];
            points.push((h, records.find("backprop.check.step", list)?.median));
        }
        // Too short a step finds no difference at all, which has no place on a logarithmic axis beside the others.
        points.retain(|(_, error)| error.is_finite() && *error > 0.0);
        if let Some((h, error)) = points.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
            best.push(format!("in {numbers} {} at h = {}", scientific(*error, 1), plain(*h)));
        }
        let name = numbers.to_owned();
        series.push(Series { name, points, band: Vec::new(), joined: true });
    }
    let words = series.iter().map(|s| {
        let points =
            s.points.iter().map(|(h, error)| format!("{} at {}", scientific(*error, 1), plain(*h)));
        format!("{}: {}", s.name, points.collect::<Vec<_>>().join(", "))
    });
    let alt = format!("Lines. {}.", words.collect::<Vec<_>>().join("; "));
    let caption = format!(
        "How far finite differences are from the gradient, by their step h. Long steps lose to ReLU's kink, short ones to \
         rounding. The best is {}.",
        best.join(", ")
    );
    let plot = LinePlot {
        x: Axis::new("step h", Scale::Log),
        y: Axis::new("relative error", Scale::Log),
        series,
        limits: Vec::new(),
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn draw_ladder(records: &Records, batch: usize) -> Result<Drawing> {
    let mut bars = Vec::new();
    for rung in ladder() {
        let list: ParamList = &[("rung", &rung.key), ("batch", &batch)];
        bars.push(Bar::of(rung.name, records.find("backprop.ladder.epoch", list), 1.0)?);
    }
    let total = records.find("backprop.ladder.total", &[("batch", &batch)])?;
    let mut caption = format!(
        "An epoch of 60,000 pictures in batches of {batch} on {}: the last way learns {} as fast as the first, \
         and the same.",
        records.machine.in_words(),
        total.text()
    );
    let limits = roofline(records, batch)?;
    if let (Some((_, bound)), Some((last, ..))) =
        (limits.last(), bars.last().and_then(|bar| bar.value))
    {
        caption += &format!(
            " It takes {} times the time that its roofline allows.",
            Unit::Number.format(last / bound)
        );
    }
    let lines = limits.iter().map(|(name, at)| format!("{name}: {}", Unit::Seconds.format(*at)));
    let lines = lines.collect::<Vec<_>>().join("; ");
    let alt = format!("Bars. {}. Lines. {lines}.", Bar::in_words(&bars));
    let axis = Axis::new("seconds an epoch", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits }.svg(), caption, alt })
}

/// The parts of a step, in their order: their key in the records, and their name.
const PARTS: [(&str, &str); 4] = [
    ("gather", "gather the pictures"),
    ("forward", "product forward"),
    ("weights", "product for the weights"),
    ("adam", "Adam, in one pass"),
];

/// The least seconds of an epoch, by what the parts of a step must compute and move: on one core, and on all of them.
/// Nothing where a step is not measured.
fn roofline(records: &Records, batch: usize) -> Result<Vec<(String, f64)>> {
    let mut step = 0.0;
    for (part, _) in PARTS {
        match records.find("backprop.step.bound", &[("part", &part), ("batch", &batch)]) {
            Ok(bound) => step += bound.median,
            Err(Error::NotMeasured { .. } | Error::Key(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
    let one = step * 60_000_f64 / batch as f64;
    let cores = records.find("backprop.ladder.threads", &[("batch", &batch)])?.median;
    let all = (format!("roofline, {cores} cores"), one / cores);
    Ok(vec![("roofline, one core".to_owned(), one), all])
}

/// The contenders of the races: their key in the records, and their name.
const RACERS: [(&str, &str); 4] = [
    ("ours", "this chapter"),
    ("pytorch-fused", "PyTorch, fused Adam"),
    ("pytorch", "PyTorch"),
    ("keras", "Keras"),
];

fn draw_race(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    for batch in [32, 128] {
        for (who, name) in RACERS {
            let found = records.find(&format!("backprop.race{batch}"), &[("who", &who)]);
            bars.push(Bar::of(&format!("{name}, batch {batch}"), found, 1.0)?);
        }
    }
    let ratio = |batch: usize, who: &str| {
        let found = records.find(&format!("backprop.race{batch}.ratio"), &[("who", &who)]);
        found.map_or_else(|_| "not measured".to_owned(), Value::text)
    };
    let caption = format!(
        "An epoch of 60,000 pictures on {}. PyTorch takes {} as long as this chapter in batches of 32, and {} in \
         batches of 128; with its fused Adam {} and {}.",
        records.machine.in_words(),
        ratio(32, "pytorch"),
        ratio(128, "pytorch"),
        ratio(32, "pytorch-fused"),
        ratio(128, "pytorch-fused"),
    );
    let alt = format!("Bars. {}.", Bar::in_words(&bars));
    let axis = Axis::new("seconds an epoch", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn draw_step(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    for batch in [32, 128] {
        for (part, name) in PARTS {
            let found = records.find("backprop.step", &[("part", &part), ("batch", &batch)]);
            bars.push(Bar::of(&format!("{name}, batch {batch}"), found, 1.0)?);
        }
    }
    let of = |part: &str, batch: usize| {
        records.find("backprop.step", &[("part", &part), ("batch", &batch)]).map(|v| v.median)
    };
    let share = |batch| -> Result<f64> {
        let products = of("forward", batch)? + of("weights", batch)?;
        Ok(of("adam", batch)? / products)
    };
    let caption = format!(
        "The parts of one step on one core of {}. Adam takes {} of the time of the two products in batches of 32, \
         and {} in batches of 128.",
        records.machine.in_words(),
        Unit::Share.format(share(32)?),
        Unit::Share.format(share(128)?),
    );
    let alt = format!("Bars. {}.", Bar::in_words(&bars));
    let axis = Axis::new("seconds", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn draw_memory(records: &Records) -> Result<Drawing> {
    const GIBIBYTE: f64 = 1_073_741_824.0;
    let find = |what: &str| {
        records
            .find("backprop.count.bytes", &[("model", &"vgg16"), ("batch", &32), ("what", &what)])
    };
    let bars = ["weights", "gradients", "optimizer", "activations", "scratch"]
        .map(|what| Bar::of(what, find(what), GIBIBYTE))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let of = |what: &str| find(what).map(|value| value.median);
    let parameters = of("weights")? + of("gradients")? + of("optimizer")?;
    let caption = format!(
        "What training VGG16 with Adam in batches of 32 keeps in memory, in f32: {} in all. Four numbers for each \
         parameter (itself, its gradient, Adam's two) take {}, the activations {}, scratch {}. The weights alone are {} \
         of it.",
        find("total")?.text(),
        Unit::Bytes.format(parameters),
        find("activations")?.text(),
        find("scratch")?.text(),
        Unit::Share.format(of("weights")? / of("total")?)
    );
    let alt = format!("Bars. {}.", Bar::in_words(&bars));
    let axis = Axis::new("memory (GiB)", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn table_ladder(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let cell = |found: Result<&Value>| match found {
        Ok(value) => Ok(value.text()),
        // The quick budget has one batch alone, and the first rung has none before it.
        Err(Error::Key(_) | Error::Skipped { .. }) => Ok("–".to_owned()),
        Err(error) => Err(error),
    };
    for rung in ladder() {
        let mut row = vec![rung.name.to_owned()];
        for batch in [32, 128] {
            let list: ParamList = &[("rung", &rung.key), ("batch", &batch)];
            row.push(cell(records.find("backprop.ladder.epoch", list))?);
            row.push(cell(records.find("backprop.ladder.speedup", list))?);
            let flops = records.find("backprop.ladder.flops", list).ok();
            let share = flops.and_then(Value::of_limit).map(|share| Unit::Share.format(share));
            row.push(share.unwrap_or_else(|| "–".to_owned()));
        }
        rows.push(row);
    }
    let total = records.find("backprop.ladder.total", &[("batch", &32)])?;
    Ok(TableData {
        caption: format!(
            "Seconds an epoch, the gain over the rung before, and the products' share of the peak of all cores, \
             on {}. In batches of 32 the whole ladder gains {}.",
            records.machine.in_words(),
            total.text()
        ),
        head: ["rung", "batch 32", "gain", "of peak", "batch 128", "gain", "of peak"]
            .map(String::from)
            .into(),
        rows,
    })
}

fn table_race(records: &Records) -> Result<TableData> {
    let threads =
        records.find("backprop.race32", &[("who", &"ours")])?.params.get("threads").cloned();
    let mut rows = Vec::new();
    for batch in [32, 128] {
        for (who, name) in RACERS {
            let find = |suffix: &str| {
                records.find(&format!("backprop.race{batch}{suffix}"), &[("who", &who)])
            };
            let cell = |suffix: &str| find(suffix).map_or_else(|_| "–".to_owned(), Value::text);
            let spread = find("").map_or_else(
                |_| "–".to_owned(),
                |v| format!("{} to {}", v.unit.format(v.low), v.unit.format(v.high)),
            );
            let version = find("").ok().and_then(|v| v.params.get("version").cloned());
            rows.push(vec![
                format!("{name}, batch {batch}"),
                cell(""),
                spread,
                cell(".accuracy"),
                cell(".ratio"),
                version.filter(|_| who != "ours").unwrap_or_default(),
            ]);
        }
    }
    Ok(TableData {
        caption: format!(
            "An epoch of 784-128-10 with dropout and Adam on {}, with {} threads. For each batch size all took turns \
             in one run: five seeds, three epochs each. The time is the median epoch, beside it where half of them \
             lie; the accuracy is the median of the seeds; the ratio is the median over the seeds of its median epoch \
             over ours, so it need not be the ratio of the medians.",
            records.machine.in_words(),
            threads.unwrap_or_default()
        ),
        head: ["who", "an epoch", "half of them", "test accuracy", "times as long", "version"]
            .map(String::from)
            .into(),
        rows,
    })
}

fn table_vgg16(_: &Records) -> Result<TableData> {
    let counts = Model::vgg16().count()?;
    let shape =
        |output: &[usize]| output.iter().map(ToString::to_string).collect::<Vec<_>>().join("×");
    let rows: Vec<Vec<String>> = counts
        .rows
        .iter()
        .filter(|row| row.parameters > 0 || row.kind == "pool")
        .map(|row| {
            let count = |n: f64| if n == 0.0 { "–".to_owned() } else { Unit::Count.format(n) };
            let mega = |n: f64| count((n / 1e6).round());
            vec![
                row.kind.to_owned(),
                shape(&row.output),
                count(row.parameters as f64),
                mega(row.forward),
                mega(row.backward),
                Unit::Bytes.format(4.0 * row.kept as f64),
            ]
        })
        .collect();
    Ok(TableData {
        caption: format!(
            "VGG16 has {} parameters. One image takes {} million operations forward and {} million backward, \
             and keeps {} for the way back.",
            Unit::Count.format(counts.parameters as f64),
            Unit::Count.format((counts.forward / 1e6).round()),
            Unit::Count.format((counts.backward / 1e6).round()),
            Unit::Bytes.format(4.0 * counts.kept as f64),
        ),
        head: ["layer", "output", "parameters", "forward (10⁶)", "backward (10⁶)", "kept"]
            .map(String::from)
            .into(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Samples;

    fn records(values: &[Value]) -> Records {
        lab::testing::records(&crate::chapter(), values, &[])
    }

    fn measured() -> Records {
        let mut values = Vec::new();
        let mut add = |key: &str, list: ParamList, unit, value: f64| {
            values.push(Value::new(key, list, unit, Samples(vec![value])));
        };
        for batch in [32, 128] {
            for (at, rung) in ladder().iter().enumerate() {
                let list: ParamList = &[("rung", &rung.key), ("batch", &batch)];
                add("backprop.ladder.epoch", list, Unit::Seconds, 2.0 / (at + 1) as f64);
                if at > 0 {
                    add("backprop.ladder.speedup", list, Unit::Ratio, 1.5);
                }
            }
            add("backprop.ladder.total", &[("batch", &batch)], Unit::Ratio, 8.0);
            add("backprop.ladder.threads", &[("batch", &batch)], Unit::Count, 2.0);
            for part in ["gather", "forward", "weights", "adam"] {
                let list: ParamList = &[("part", &part), ("batch", &batch)];
                add("backprop.step", list, Unit::Seconds, 1e-4);
                add("backprop.step.bound", list, Unit::Seconds, 5e-5);
            }
            for (who, _) in RACERS {
                let list: ParamList = &[("who", &who)];
                add(&format!("backprop.race{batch}"), list, Unit::Seconds, 1.25);
                add(&format!("backprop.race{batch}.ratio"), list, Unit::Ratio, 4.5);
            }
        }
        for (at, h) in STEPS.iter().enumerate() {
            for numbers in ["f64", "f32"] {
                let list: ParamList = &[("numbers", &numbers), ("h", &format!("{h:e}"))];
                add("backprop.check.step", list, Unit::Number, 10_f64.powi(-(at as i32)));
            }
        }
        for what in ["weights", "gradients", "optimizer", "activations", "scratch", "total"] {
            let list: ParamList = &[("model", &"vgg16"), ("batch", &32), ("what", &what)];
            add("backprop.count.bytes", list, Unit::Bytes, 1e9);
        }
        records(&values)
    }

    #[test]
    fn every_figure_and_table_is_made_from_records() {
        let records = measured();
        for figure in figures() {
            let drawing = (figure.draw)(&records).unwrap_or_else(|e| panic!("{}: {e}", figure.key));
            assert!(drawing.svg.contains("<svg") && !drawing.alt.is_empty(), "{}", figure.key);
            assert!(!drawing.caption.contains("not a number"), "{}", drawing.caption);
        }
        for table in tables() {
            let data = (table.make)(&records).unwrap_or_else(|e| panic!("{}: {e}", table.key));
            assert!(data.rows.iter().all(|row| row.len() == data.head.len()), "{}", table.key);
            assert!(!data.rows.is_empty());
        }
        let ladder = table_ladder(&records).unwrap();
        assert_eq!(ladder.rows[1][..3], ["no gradient for the input", "1.00 s", "1.50×"]);
        assert!((draw_race(&records).unwrap().caption).contains("4.50×"));
        // Four parts of 50 µs, 1,875 times, on two cores: 0.1875 s, and the eighth rung takes 0.25 s.
        let ladder = draw_ladder(&records, 32).unwrap();
        assert!(
            ladder.caption.contains("1.33 times") && ladder.alt.contains("2 cores: 188 ms"),
            "{ladder:?}"
        );
        assert!(draw_check(&records).unwrap().caption.contains("10⁻¹⁰ at h = 10⁻¹¹"));
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let empty = records(&[]);
        for figure in figures() {
            let error = (figure.draw)(&empty).unwrap_err();
            assert!(matches!(error, Error::NotMeasured { .. }), "{}: {error}", figure.key);
        }
        assert!(matches!(table_race(&empty), Err(Error::NotMeasured { .. })));
        assert!(matches!(table_ladder(&empty), Err(Error::NotMeasured { .. })));
    }

    #[test]
    fn vgg16s_table_adds_up_to_its_parameters() {
        let table = table_vgg16(&records(&[])).unwrap();
        assert!(table.caption.contains("138,357,544"), "{}", table.caption);
        assert_eq!(table.rows.len(), 13 + 5 + 3);
    }
}
