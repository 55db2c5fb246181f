//! This part's pictures and tables, made from one machine's records.

use crate::{
    engine::ladder::{MODELS, ladder},
    measured::experiments::engine::{
        products::{CONTENDERS, PASSES},
        race::{BATCHES, KEY, RACERS},
    },
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LinePlot, Scale, Series},
    record::{ParamList, Value},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.ladder", draw: |records| draw_ladder(records, 0) },
        Figure { key: "performance.ladder.deep", draw: |records| draw_ladder(records, 1) },
        Figure { key: "performance.race", draw: |records| draw_race(records, 0) },
        Figure { key: "performance.race.deep", draw: |records| draw_race(records, 1) },
        Figure { key: "performance.threads", draw: draw_threads },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "performance.ladder", make: table_ladder },
        Table { key: "performance.products", make: table_products },
        Table { key: "performance.race", make: table_race },
    ]
}

fn draw_ladder(records: &Records, model: usize) -> Result<Drawing> {
    let ((model, _), batch) = (MODELS[model], BATCHES[0]);
    let of = |rung: &str| {
        records.find("performance.ladder", &[("model", &model), ("batch", &batch), ("rung", &rung)])
    };
    let bars = ladder()
        .iter()
        .map(|rung| Bar::of(rung.name, of(rung.key), 1.0))
        .collect::<Result<Vec<_>>>()?;
    let last = of("threads")?;
    let limits: Vec<(String, f64)> =
        last.limit.iter().map(|limit| (limit.name.clone(), limit.value)).collect();
    let total =
        records.find("performance.ladder.total", &[("model", &model), ("batch", &batch)])?;
    let caption = format!(
        "{model} in batches of {batch} on {}: the last rung learns {} as many pictures a second as stock dfdx, {} of \
         what the step's operations or bytes allow.",
        records.machine.in_words(),
        total.text(),
        last.of_limit().map_or_else(|| "an unknown part".to_owned(), |s| Unit::Share.format(s)),
    );
    let alt = format!("Bars of pictures a second. {}.", Bar::in_words(&bars));
    let axis = Axis::new("pictures a second", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits }.svg(), caption, alt })
}

fn draw_race(records: &Records, model: usize) -> Result<Drawing> {
    let (model, _) = MODELS[model];
    let mut bars = Vec::new();
    for batch in BATCHES {
        for (who, name) in RACERS {
            let list: ParamList = &[("model", &model), ("batch", &batch), ("who", &who)];
            let found = records.find("performance.race.rate", list);
            bars.push(Bar::of(&format!("{name}, batch {batch}"), found, 1.0)?);
        }
    }
    let ratio = |batch: usize, who: &str| {
        let list: ParamList = &[("model", &model), ("batch", &batch), ("who", &who)];
        let found = records.find("performance.race.ratio", list);
        found.map_or_else(|_| "not measured".to_owned(), Value::text)
    };
    let caption = format!(
        "{model} on {}. PyTorch with its fused Adam takes {} as long for an epoch as this chapter in batches of {}, and \
         {} in batches of {}; stock dfdx takes {} and {}.",
        records.machine.in_words(),
        ratio(BATCHES[0], "pytorch-fused"),
        BATCHES[0],
        ratio(BATCHES[1], "pytorch-fused"),
        BATCHES[1],
        ratio(BATCHES[0], "stock"),
        ratio(BATCHES[1], "stock"),
    );
    let alt = format!("Bars of pictures a second. {}.", Bar::in_words(&bars));
    let axis = Axis::new("pictures a second", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn draw_threads(records: &Records) -> Result<Drawing> {
    const WHAT: &str = "performance.threads";
    let names = [("one", "one thread"), ("products", "all in products"), ("all", "all everywhere")];
    let mut series = Vec::new();
    for (way, name) in names {
        let values = records.all(WHAT, &[("threads", &way)]);
        let mut points: Vec<(f64, &Value)> = values
            .into_iter()
            .filter_map(|value| Some((value.params.get("batch")?.parse().ok()?, value)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        series.push(Series {
            name: name.into(),
            points: points.iter().map(|(batch, value)| (*batch, value.median)).collect(),
            band: points.iter().map(|(_, value)| (value.low, value.high)).collect(),
            joined: true,
        });
    }
    let first = |at: usize| series[at].points.first().copied();
    let (Some(one), Some(all)) = (first(0), first(2)) else {
        return Err(Error::NotMeasured { what: WHAT.into(), chapter: "performance".into() });
    };
    let last = |at: usize| series[at].points.last().map_or(f64::NAN, |point| point.1);
    let gain = |all: f64, one: f64| Unit::Ratio.format(all / one);
    let largest = series[0].points.last().map_or(f64::NAN, |point| point.0);
    let caption = format!(
        "784-128-10 on {}. All threads everywhere are {} as fast as one thread in batches of {}, and {} in batches of {largest}.",
        records.machine.in_words(),
        gain(all.1, one.1),
        one.0,
        gain(last(2), last(0)),
    );
    let words: Vec<String> = series
        .iter()
        .map(|s| {
            let points = s
                .points
                .iter()
                .map(|(batch, rate)| format!("{} at {batch}", Unit::ImagesPerSecond.format(*rate)));
            format!("{}: {}", s.name, points.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let ticks: Vec<f64> = series[0].points.iter().map(|point| point.0).collect();
    let plot = LinePlot {
        x: Axis::new("pictures in a batch", Scale::Log).ticks(ticks),
        y: Axis::new("pictures a second", Scale::Linear),
        series,
        limits: Vec::new(),
    };
    Ok(Drawing { svg: plot.svg(), caption, alt: format!("Lines. {}.", words.join("; ")) })
}

/// The value's text, or a dash where the quick budget or the first rung leaves none.
fn cell(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(value.text()),
        Err(Error::Key(_) | Error::Skipped { .. }) => Ok("–".to_owned()),
        Err(error) => Err(error),
    }
}

fn table_ladder(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for rung in ladder() {
        let mut row = vec![rung.name.to_owned()];
        for (model, _) in MODELS {
            for batch in BATCHES {
                let list: ParamList = &[("model", &model), ("batch", &batch), ("rung", &rung.key)];
                row.push(cell(records.find("performance.ladder", list))?);
                row.push(cell(records.find("performance.ladder.gain", list))?);
            }
        }
        rows.push(row);
    }
    let list: ParamList = &[("model", &MODELS[0].0), ("batch", &BATCHES[0])];
    let total = records.find("performance.ladder.total", list)?;
    let mut head = vec!["rung".to_owned()];
    for (model, _) in MODELS {
        for batch in BATCHES {
            head.extend([format!("{model}, batch {batch}"), "gain".to_owned()]);
        }
    }
    Ok(TableData {
        caption: format!(
            "Pictures a second and the gain over the rung before, on {}. The whole ladder gains {} for {} in batches of {}. \
             Gains are medians over the runs, each held against its neighbour.",
            records.machine.in_words(),
            total.text(),
            MODELS[0].0,
            BATCHES[0],
        ),
        head,
        rows,
    })
}

fn table_products(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let mut best = (0.0, String::new());
    for (pass, shape) in PASSES {
        for batch in BATCHES {
            let shape = shape(batch);
            let mut row = vec![format!("{pass}, {}×{}×{}", shape.m, shape.k, shape.n)];
            for (who, name) in CONTENDERS {
                let list: ParamList = &[("who", &who), ("pass", &pass), ("batch", &batch)];
                let value = records.find("performance.products", list)?;
                if value.median > best.0 {
                    best = (value.median, name.to_owned());
                }
                let share = value.of_limit().map(|share| Unit::Share.format(share));
                row.push(format!("{} ({})", value.text(), share.unwrap_or_default()));
            }
            rows.push(row);
        }
    }
    Ok(TableData {
        caption: format!(
            "The products of the first layer (m×k×n) on all cores of {}, with their share of the peak. The fastest is {} with {}.",
            records.machine.in_words(),
            best.1,
            Unit::FlopsPerSecond.format(best.0)
        ),
        head: std::iter::once("product")
            .chain(CONTENDERS.map(|(_, name)| name))
            .map(String::from)
            .collect(),
        rows,
    })
}

fn table_race(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (model, _) in MODELS {
        for batch in BATCHES {
            for (who, name) in RACERS {
                let list: ParamList = &[("model", &model), ("batch", &batch), ("who", &who)];
                let of = |suffix: &str| cell(records.find(&format!("{KEY}{suffix}"), list));
                let ratio = if who == "ours" { "1".to_owned() } else { of(".ratio")? };
                rows.push(vec![
                    format!("{model}, batch {batch}: {name}"),
                    of("")?,
                    ratio,
                    of(".accuracy")?,
                ]);
            }
        }
    }
    Ok(TableData {
        caption: format!(
            "Seconds of an epoch of 60,000 pictures, how many times as long as this chapter's, and right answers on the test \
             pictures after three epochs: medians of five runs that took turns, on {}. A ratio is the median over the \
             runs, each held against its neighbour.",
            records.machine.in_words()
        ),
        head: ["who", "an epoch", "to ours", "right answers"].map(String::from).into(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Samples, record::Limit};

    fn records(values: &[Value]) -> Records {
        lab::testing::records(&crate::chapter(), values, &[])
    }

    fn measured() -> Records {
        let mut values = Vec::new();
        let mut add = |key: &str, list: ParamList, unit, value: f64| {
            let mut value = Value::new(key, list, unit, Samples(vec![value]));
            value.limit = Some(Limit { name: "the bound".into(), value: 4e5 });
            values.push(value);
        };
        for (model, _) in MODELS {
            for batch in BATCHES {
                for (at, rung) in ladder().iter().enumerate() {
                    let list: ParamList =
                        &[("model", &model), ("batch", &batch), ("rung", &rung.key)];
                    add("performance.ladder", list, Unit::ImagesPerSecond, 4e4 * (at + 1) as f64);
                    if at > 0 {
                        add("performance.ladder.gain", list, Unit::Ratio, 1.25);
                    }
                }
                let list: ParamList = &[("model", &model), ("batch", &batch)];
                add("performance.ladder.total", list, Unit::Ratio, 8.0);
                for (who, _) in RACERS {
                    let list: ParamList = &[("model", &model), ("batch", &batch), ("who", &who)];
                    add(KEY, list, Unit::Seconds, 0.5);
                    add("performance.race.rate", list, Unit::ImagesPerSecond, 1.2e5);
                    add("performance.race.accuracy", list, Unit::Share, 0.97);
                    add("performance.race.ratio", list, Unit::Ratio, 2.5);
                }
            }
        }
        for (pass, _) in PASSES {
            for batch in BATCHES {
                for (at, (who, _)) in CONTENDERS.iter().enumerate() {
                    let list: ParamList = &[("who", who), ("pass", &pass), ("batch", &batch)];
                    add("performance.products", list, Unit::FlopsPerSecond, 1e5 * (at + 1) as f64);
                }
            }
        }
        for way in ["one", "products", "all"] {
            for batch in [512, 8] {
                let list: ParamList = &[("threads", &way), ("batch", &batch)];
                let rate = if way == "all" { 2e3 } else { 1e3 } * f64::from(batch);
                add("performance.threads", list, Unit::ImagesPerSecond, rate);
            }
        }
        records(&values)
    }

    #[test]
    fn captions_say_what_was_measured() {
        let records = measured();
        for figure in figures() {
            let drawing = (figure.draw)(&records).unwrap();
            assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
            assert!(!drawing.caption.contains("NaN") && !drawing.alt.is_empty(), "{drawing:?}");
        }
        let ladder = draw_ladder(&records, 0).unwrap();
        assert!(
            ladder.caption.contains("8.00×") && ladder.caption.contains("80.0%"),
            "{}",
            ladder.caption
        );
        assert!(ladder.svg.contains("the bound"));
        let race = draw_race(&records, 1).unwrap();
        assert!(race.caption.contains("2.50×"), "{}", race.caption);
        let threads = draw_threads(&records).unwrap();
        assert!(
            threads.caption.contains("2.00× as fast as one thread in batches of 8"),
            "{}",
            threads.caption
        );
        for table in tables() {
            let table = (table.make)(&records).unwrap();
            assert!(
                table.rows.iter().all(|row| row.len() == table.head.len()),
                "{}",
                table.caption
            );
        }
        assert!(table_products(&records).unwrap().caption.contains("The fastest is chapter 1"));
    }

    #[test]
    fn without_records_they_say_so() {
        let none = records(&[]);
        for figure in figures() {
            let error = (figure.draw)(&none).unwrap_err();
            assert!(matches!(error, Error::NotMeasured { .. }), "{}: {error}", figure.key);
        }
        for table in tables() {
            assert!((table.make)(&none).is_err(), "{}", table.key);
        }
    }
}
