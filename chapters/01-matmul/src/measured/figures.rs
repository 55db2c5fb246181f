//! The chapter's pictures and tables, made from one machine's records.

use super::experiments::{CONTENDERS, LADDER_N, MISSES_N};
use crate::{cache::Pattern, ladder::ladder};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "matmul.ladder", draw: draw_ladder },
        Figure { key: "matmul.misses", draw: draw_misses },
        Figure { key: "matmul.vectorise", draw: draw_vectorise },
        Figure { key: "matmul.roofline", draw: draw_roofline },
        Figure { key: "matmul.sizes", draw: |records| draw_sizes(records, "one", "one thread") },
        Figure {
            key: "matmul.sizes.all",
            draw: |records| draw_sizes(records, "all", "all threads"),
        },
        Figure { key: "matmul.scaling", draw: draw_scaling },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "matmul.ladder", make: table_ladder },
        Table { key: "matmul.sizes", make: table_sizes },
        Table { key: "matmul.shapes", make: table_shapes },
    ]
}

const GIGA: f64 = 1e9;

fn rate_axis(label: &str) -> Axis {
    Axis::new(label, Scale::Log)
}

/// The limits of these values, each once, in their order.
fn limits<'r>(values: impl IntoIterator<Item = &'r Value>) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = Vec::new();
    for limit in values.into_iter().filter_map(|value| value.limit.as_ref()) {
        if !found.iter().any(|(name, _)| *name == limit.name) {
            found.push((limit.name.clone(), limit.value / GIGA));
        }
    }
    found
}

/// How many times as fast as the first rung the fastest one is, for each kind of inputs that was measured.
fn totals(records: &Records) -> Result<String> {
    let total = |inputs: &str| {
        records.find("matmul.ladder.total", &[("n", &LADDER_N), ("inputs", &inputs)])
    };
    let mut text = format!("the fastest f32 rung is {} as fast", total("f32")?.text());
    if let Ok(bf16) = total("bf16") {
        text += &format!(", the fastest one that rounds its inputs to bf16 {}", bf16.text());
    }
    Ok(text)
}

fn draw_ladder(records: &Records) -> Result<Drawing> {
    const KEY: &str = "matmul.ladder";
    let mut bars = Vec::new();
    let mut values = Vec::new();
    for rung in ladder() {
        let found = records.find(KEY, &[("n", &LADDER_N), ("rung", &rung.key)]);
        values.extend(found.as_ref().ok().copied());
        bars.push(Bar::of(rung.name, found, GIGA)?);
    }
    let Some(first) = values.first() else {
        return Err(Error::message("the ladder has no rung"));
    };
    let caption = format!(
        "One product of {LADDER_N}×{LADDER_N} matrices on {}: {} with three plain loops; {}.",
        records.machine.in_words(),
        first.text(),
        totals(records)?,
    );
    let alt = format!("Bars on a logarithmic scale. {}.", Bar::in_words(&bars));
    let svg = BarPlot { axis: rate_axis("rate (GFLOP/s)"), bars, limits: limits(values) }.svg();
    Ok(Drawing { svg, caption, alt })
}

fn draw_misses(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    let mut per_step = Vec::new();
    for pattern in Pattern::ALL {
        let rung = pattern.name();
        for (event, level) in [("l1", "first level"), ("l2", "second level")] {
            let list: ParamList = &[("n", &MISSES_N), ("rung", &rung), ("event", &event)];
            bars.push(Bar::of(
                &format!("{rung}, {level}"),
                records.find("matmul.misses", list),
                1.0,
            )?);
            per_step.push(records.find("matmul.misses.per_step", list)?);
        }
    }
    let caption = format!(
        "Cache lines fetched in a product of {MISSES_N}×{MISSES_N} matrices, counted by the simulator: \
         {} for each multiply-add into the first level in the naive order, {} in the packed one.",
        per_step[0].text(),
        per_step[per_step.len() - 2].text(),
    );
    let alt = format!("Bars on a logarithmic scale. {}.", Bar::in_words(&bars));
    let axis = Axis::new("lines fetched", Scale::Log);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn draw_vectorise(records: &Records) -> Result<Drawing> {
    const KEY: &str = "matmul.vectorise";
    let bars = [
        ("one running sum", "one-sum"),
        ("eight sums", "eight-sums"),
        ("a sum for each element", "row-update"),
    ]
    .map(|(name, key)| Bar::of(name, records.find(KEY, &[("loop", &key)]), GIGA));
    let bars = bars.into_iter().collect::<Result<Vec<_>>>()?;
    let speedup = records.find("matmul.vectorise.speedup", &[("loop", &"eight-sums")])?;
    let caption = format!(
        "Multiply-adds on numbers that stay in the first-level cache, compiled with the same options: eight \
         sums run {} as fast as one, on {}.",
        speedup.text(),
        records.machine.in_words(),
    );
    let alt = format!("Bars. {}.", Bar::in_words(&bars));
    let axis = Axis::new("rate (GFLOP/s)", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn draw_roofline(records: &Records) -> Result<Drawing> {
    let peak = records.find("matmul.roofline.peak", &[])?;
    let from_l2 = records.find("matmul.roofline.bandwidth", &[("from", &"l2")])?;
    let from_memory = records.find("matmul.roofline.bandwidth", &[("from", &"memory")])?;
    let intensity = |rung: &str| records.find("matmul.roofline.intensity", &[("rung", &rung)]);
    let compulsory = intensity("compulsory")?;

    let (low, high) = (1.0 / 64.0, 1024.0);
    let mut series = Vec::new();
    let mut words = Vec::new();
    for pattern in Pattern::ALL {
        let rung = pattern.name();
        let (x, rate) = (intensity(rung)?, records.find("matmul.roofline", &[("rung", &rung)])?);
        series.push(Series {
            name: rung.to_owned(),
            points: vec![(x.median, rate.median / GIGA)],
            band: vec![(rate.low / GIGA, rate.high / GIGA)],
            joined: false,
        });
        words.push(format!("{rung}: {} at {} operations per byte", rate.text(), x.text()));
    }
    // A bandwidth limits until its line meets the peak.
    let slope = |name: &str, bandwidth: &Value| {
        let meet = peak.median / bandwidth.median;
        LimitLine {
            name: format!("{name}: {}", bandwidth.text()),
            points: vec![(low, low * bandwidth.median / GIGA), (meet, peak.median / GIGA)],
        }
    };
    let limits = vec![
        slope("from the second-level cache", from_l2),
        slope("from memory", from_memory),
        LimitLine {
            name: format!("one core's peak: {}", peak.text()),
            points: vec![(low, peak.median / GIGA), (high, peak.median / GIGA)],
        },
    ];
    let packed = records.find("matmul.roofline", &[("rung", &"packed")])?;
    let caption = format!(
        "Rates of one core at n = {MISSES_N} over operations per byte that the first-level cache fetches, on {}: \
         the packed loops reach {} under a peak of {}. With every matrix read or written once, a product of \
         this size has {} operations per byte.",
        records.machine.in_words(),
        packed.text(),
        peak.text(),
        compulsory.text(),
    );
    let alt = format!(
        "A roofline on two logarithmic axes, with the peak at {}, {} from the second-level cache and {} from \
         memory. {}.",
        peak.text(),
        from_l2.text(),
        from_memory.text(),
        words.join("; ")
    );
    let plot = LinePlot {
        x: Axis::new("operations per byte", Scale::Log).range(low, high),
        y: rate_axis("rate (GFLOP/s)"),
        series,
        limits,
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// The contenders' names in the records and in pictures.
fn contenders() -> [(&'static str, &'static str); 3] {
    CONTENDERS.map(|who| (who, if who == "ours" { "this crate" } else { who }))
}

/// The values with this key that name a size, and their sizes. A received record may name anything: what is no size is
/// left out.
fn by_size<'r>(
    records: &'r Records,
    key: &str,
    list: ParamList,
) -> Result<Vec<(usize, &'r Value)>> {
    let found = records.all(key, list);
    if found.is_empty() {
        // For the error that fits: not measured, or skipped.
        records.find(key, list)?;
    }
    let sizes = found.into_iter().filter_map(|value| {
        let n = value.params.get("n")?.parse().ok()?;
        (n > 0).then_some((n, value))
    });
    let sizes: Vec<(usize, &Value)> = sizes.collect();
    if sizes.is_empty() {
        return Err(Error::NotMeasured { what: key.to_owned(), chapter: "matmul".to_owned() });
    }
    Ok(sizes)
}

/// The sizes that were measured: the quick budget leaves the large ones out.
fn measured_sizes(records: &Records, threads: &str) -> Result<Vec<usize>> {
    let found = by_size(records, "matmul.sizes.ratio", &[("threads", &threads)])?;
    Ok(found.into_iter().map(|(n, _)| n).collect())
}

fn draw_sizes(records: &Records, threads: &str, words: &str) -> Result<Drawing> {
    let sizes = measured_sizes(records, threads)?;
    let mut series = Vec::new();
    let mut all = Vec::new();
    for (who, name) in contenders() {
        let mut line = Series { name: name.to_owned(), points: vec![], band: vec![], joined: true };
        for n in &sizes {
            let list: ParamList = &[("n", n), ("threads", &threads), ("who", &who)];
            let value = match records.find("matmul.sizes", list) {
                Err(Error::Skipped { .. }) => continue,
                found => found?,
            };
            line.points.push((*n as f64, value.median / GIGA));
            line.band.push((value.low / GIGA, value.high / GIGA));
            all.push(value);
        }
        if !line.points.is_empty() {
            series.push(line);
        }
    }
    let ratios = sizes
        .iter()
        .map(|n| {
            let ratio = records.find("matmul.sizes.ratio", &[("n", n), ("threads", &threads)])?;
            Ok(format!("{} at n = {n}", ratio.text()))
        })
        .collect::<Result<Vec<String>>>()?;
    let caption = format!(
        "Square products on {words} of {}. This crate against the better library of each round: {}.",
        records.machine.in_words(),
        ratios.join(", ")
    );
    let rows: Vec<String> = all
        .iter()
        .map(|value| {
            let of = |name: &str| value.params.get(name).map_or("?", String::as_str);
            format!("{} at n = {}: {}", of("who"), of("n"), value.text())
        })
        .collect();
    let alt = format!("Lines of the rate over n. {}.", rows.join("; "));
    let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
    let tops = all.iter().map(|value| value.high / GIGA);
    let limits = limits(all.iter().copied());
    let highest = limits.iter().map(|(_, value)| *value).chain(tops).fold(0.0, f64::max);
    let limits = limits
        .into_iter()
        .map(|(name, value)| LimitLine { name, points: vec![(first, value), (last, value)] })
        .collect();
    let ticks: Vec<f64> = sizes.iter().map(|&n| n as f64).collect();
    let plot = LinePlot {
        x: Axis::new("n", Scale::Log).ticks(ticks),
        y: Axis::new("rate (GFLOP/s)", Scale::Linear).range(0.0, 1.15 * highest),
        series,
        limits,
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn draw_scaling(records: &Records) -> Result<Drawing> {
    let threads = records.find("matmul.scaling.threads", &[])?;
    let points: Vec<(f64, &Value)> = by_size(records, "matmul.scaling", &[])?
        .into_iter()
        .map(|(n, value)| (n as f64, value))
        .collect();
    let ((small, first), (large, last)) = (points[0], points[points.len() - 1]);
    let caption = format!(
        "What {} threads gain over one on {}: {} at n = {small}, {} at n = {large}.",
        threads.text(),
        records.machine.in_words(),
        first.text(),
        last.text(),
    );
    let words: Vec<String> =
        points.iter().map(|(n, value)| format!("n = {n}: {}", value.text())).collect();
    let plot = LinePlot {
        x: Axis::new("n", Scale::Log).ticks(points.iter().map(|p| p.0).collect::<Vec<_>>()),
        y: Axis::new("times as fast as one thread", Scale::Linear)
            .range(0.0, 1.25 * threads.median.max(last.median)),
        series: vec![Series {
            name: "all threads".to_owned(),
            points: points.iter().map(|(n, value)| (*n, value.median)).collect(),
            band: points.iter().map(|(_, value)| (value.low, value.high)).collect(),
            joined: true,
        }],
        limits: vec![LimitLine {
            name: "proportional".to_owned(),
            points: vec![(small, threads.median), (large, threads.median)],
        }],
    };
    let alt = format!("A line of the gain over n. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// A cell: the value, or why there is none.
fn cell(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(value.text()),
        Err(Error::Skipped { why, .. }) => Ok(why),
        Err(error) => Err(error),
    }
}

/// [`cell`] for tables that have no room for reasons.
fn short_cell(found: Result<&Value>) -> Result<String> {
    match found {
        Err(Error::Skipped { .. }) => Ok("–".to_owned()),
        found => cell(found),
    }
}

fn table_ladder(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for rung in ladder() {
        let list: ParamList = &[("n", &LADDER_N), ("rung", &rung.key)];
        let found = records.find("matmul.ladder", list);
        let share = found.as_ref().ok().and_then(|value| value.of_limit());
        let against = |over: &str| {
            let list: ParamList = &[("n", &LADDER_N), ("rung", &rung.key), ("over", &over)];
            records.find("matmul.ladder.speedup", list).map_or("–".to_owned(), Value::text)
        };
        rows.push(vec![
            rung.name.to_owned(),
            cell(found)?,
            share.map_or("–".to_owned(), |share| Unit::Share.format(share)),
            against("previous"),
            against("naive"),
        ]);
    }
    Ok(TableData {
        caption: format!(
            "Every rung at n = {LADDER_N} on {}: {}.",
            records.machine.in_words(),
            totals(records)?
        ),
        head: ["rung", "rate", "of the peak", "against the rung before", "against naive"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}

fn table_sizes(records: &Records) -> Result<TableData> {
    let sizes = measured_sizes(records, "one")?;
    let mut rows = Vec::new();
    let mut lowest = f64::INFINITY;
    for n in sizes {
        for threads in ["one", "all"] {
            let mut row = vec![n.to_string(), threads.to_owned()];
            for (who, _) in contenders() {
                let list: ParamList = &[("n", &n), ("threads", &threads), ("who", &who)];
                row.push(short_cell(records.find("matmul.sizes", list))?);
            }
            let ratio = records.find("matmul.sizes.ratio", &[("n", &n), ("threads", &threads)])?;
            lowest = lowest.min(ratio.median);
            row.push(ratio.text());
            rows.push(row);
        }
    }
    Ok(TableData {
        caption: format!(
            "This crate and the libraries on {}, sampled in turn in one run. The ratio is to the better \
             library of each round; the lowest is {}.",
            records.machine.in_words(),
            Unit::Ratio.format(lowest)
        ),
        head: head(&["n", "threads"]),
        rows,
    })
}

/// The given columns, then the contenders and their ratio.
fn head(first: &[&str]) -> Vec<String> {
    let names = contenders().map(|(_, name)| name);
    first.iter().chain(&names).chain(&["ratio"]).map(|&name| name.to_owned()).collect()
}

fn table_shapes(records: &Records) -> Result<TableData> {
    let ratios = records.all("matmul.shapes.ratio", &[]);
    if ratios.is_empty() {
        records.find("matmul.shapes.ratio", &[])?;
    }
    let mut rows = Vec::new();
    for ratio in &ratios {
        let of = |name: &str| ratio.params.get(name).cloned().unwrap_or_default();
        let (batch, layer, pass, threads) = (of("batch"), of("layer"), of("pass"), of("threads"));
        let mut row =
            vec![format!("{}, {pass}, batch {batch}", layer.replace('x', "×")), threads.clone()];
        for (who, _) in contenders() {
            let list: ParamList = &[
                ("batch", &batch),
                ("layer", &layer),
                ("pass", &pass),
                ("threads", &threads),
                ("who", &who),
            ];
            row.push(short_cell(records.find("matmul.shapes", list))?);
        }
        row.push(ratio.text());
        rows.push(row);
    }
    let won = ratios.iter().filter(|ratio| ratio.median >= 1.0).count();
    Ok(TableData {
        caption: format!(
            "The products of a training step on {}: this crate is at least as fast as the better library in \
             {won} of {} cases.",
            records.machine.in_words(),
            ratios.len()
        ),
        head: head(&["product", "threads"]),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{
        Samples,
        record::{Limit, Skipped, params},
        testing,
    };

    /// Values of a machine without AVX-512 and AMX, made up, with all keys that pictures need.
    #[derive(Default)]
    struct MadeUp {
        values: Vec<Value>,
        skipped: Vec<Skipped>,
    }

    impl MadeUp {
        fn add(&mut self, key: &str, list: ParamList, unit: Unit, median: f64) {
            let samples = Samples(vec![0.9 * median, median, 1.1 * median]);
            let limit = (unit == Unit::FlopsPerSecond)
                .then(|| Limit { name: "a made-up peak".to_owned(), value: 2e11 });
            self.values.push(Value { limit, ..Value::new(key, list, unit, samples) });
        }

        fn whole() -> Self {
            let mut all = Self::default();
            let rate = Unit::FlopsPerSecond;
            for (at, rung) in ladder().iter().enumerate() {
                let list: ParamList = &[("n", &LADDER_N), ("rung", &rung.key)];
                if matches!(rung.key, "avx512" | "amx" | "amx_threads") {
                    let (key, why) =
                        ("matmul.ladder".to_owned(), "this CPU has no such unit".into());
                    all.skipped.push(Skipped { key, params: params(list), why });
                    continue;
                }
                all.add("matmul.ladder", list, rate, 3e8 * 4f64.powi(at as i32));
                for over in ["previous", "naive"] {
                    let list: ParamList = &[("n", &LADDER_N), ("rung", &rung.key), ("over", &over)];
                    all.add("matmul.ladder.speedup", list, Unit::Ratio, 4.0);
                }
            }
            let list: ParamList = &[("n", &LADDER_N), ("inputs", &"f32")];
            all.add("matmul.ladder.total", list, Unit::Ratio, 4096.0);
            for (at, pattern) in Pattern::ALL.into_iter().enumerate() {
                let (rung, at) = (pattern.name(), at as f64 + 1.0);
                for event in ["loads", "stores", "l1", "l2"] {
                    let list: ParamList = &[("n", &MISSES_N), ("rung", &rung), ("event", &event)];
                    all.add("matmul.misses", list, Unit::Count, 1e8 / at);
                    all.add("matmul.misses.per_step", list, Unit::Number, 1.0 / at);
                }
                all.add("matmul.roofline", &[("rung", &rung)], rate, at * 1e10);
                all.add("matmul.roofline.intensity", &[("rung", &rung)], Unit::Number, at);
            }
            all.add("matmul.roofline.intensity", &[("rung", &"compulsory")], Unit::Number, 85.3);
            all.add("matmul.roofline.peak", &[], rate, 1e11);
            for (from, bandwidth) in [("l2", 1e11), ("memory", 1e10)] {
                let list: ParamList = &[("from", &from)];
                all.add("matmul.roofline.bandwidth", list, Unit::BytesPerSecond, bandwidth);
            }
            for name in ["one-sum", "eight-sums", "row-update"] {
                all.add("matmul.vectorise", &[("loop", &name)], rate, 2e9);
                all.add("matmul.vectorise.speedup", &[("loop", &name)], Unit::Ratio, 5.25);
            }
            for threads in ["one", "all"] {
                for n in [512, 1024] {
                    let list: ParamList = &[("n", &n), ("threads", &threads)];
                    all.add("matmul.sizes.ratio", list, Unit::Ratio, 1.25);
                    for (who, _) in contenders() {
                        let list: ParamList = &[("n", &n), ("threads", &threads), ("who", &who)];
                        all.add("matmul.sizes", list, rate, 9e10);
                    }
                }
                let list: ParamList = &[
                    ("batch", &32),
                    ("layer", &"784x128"),
                    ("pass", &"forward"),
                    ("threads", &threads),
                ];
                all.add("matmul.shapes.ratio", list, Unit::Ratio, 1.5);
                for (who, _) in contenders() {
                    let mut list = list.to_vec();
                    list.push(("who", &who));
                    all.add("matmul.shapes", &list, rate, 8e10);
                }
            }
            all.add("matmul.scaling.threads", &[], Unit::Count, 2.0);
            for n in [32, 1024] {
                all.add("matmul.scaling", &[("n", &n)], Unit::Ratio, 1.75);
            }
            all
        }

        /// As the records of a machine; each value in a run of the experiment that declares it.
        fn records(self) -> Records {
            testing::records(&crate::chapter(), &self.values, &self.skipped)
        }
    }

    #[test]
    fn figures_draw_from_records() {
        let records = MadeUp::whole().records();
        for figure in figures() {
            let drawing =
                (figure.draw)(&records).unwrap_or_else(|error| panic!("{}: {error}", figure.key));
            assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
            assert!(drawing.svg.lines().all(|line| !line.trim().is_empty()), "{}", figure.key);
            assert!(drawing.caption.ends_with('.'), "{}: {}", figure.key, drawing.caption);
            assert!(drawing.caption.chars().any(|c| c.is_ascii_digit()), "{}", drawing.caption);
            assert!(drawing.alt.len() > 40, "{}: {}", figure.key, drawing.alt);
        }
    }

    #[test]
    fn tables_have_rows_as_wide_as_their_heads() {
        let records = MadeUp::whole().records();
        for table in tables() {
            let data =
                (table.make)(&records).unwrap_or_else(|error| panic!("{}: {error}", table.key));
            assert!(!data.rows.is_empty(), "{}", table.key);
            assert!(data.caption.chars().any(|c| c.is_ascii_digit()), "{}", data.caption);
            for row in &data.rows {
                assert_eq!(row.len(), data.head.len(), "{}: {row:?}", table.key);
                assert!(row.iter().all(|cell| !cell.is_empty()), "{}: {row:?}", table.key);
            }
        }
    }

    #[test]
    fn pictures_say_what_was_not_measured() {
        let mut empty = MadeUp::whole().records();
        let runs = empty.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
        runs.for_each(|run| run.values.clear());
        let unmeasured = testing::unmeasured();
        for figure in figures() {
            let result = (figure.draw)(&unmeasured);
            assert!(matches!(result, Err(Error::NotMeasured { .. })), "{}: {result:?}", figure.key);
            assert!((figure.draw)(&empty).is_err(), "{}: drawn without values", figure.key);
        }
        for table in tables() {
            let result = (table.make)(&unmeasured);
            assert!(matches!(result, Err(Error::NotMeasured { .. })), "{}: {result:?}", table.key);
            assert!((table.make)(&empty).is_err(), "{}: made without values", table.key);
        }
    }

    #[test]
    fn a_size_that_is_none_is_not_measured() {
        for n in ["nan", "-1", "1.5", "1e400", "", "0"] {
            let mut records = MadeUp::whole().records();
            let runs = records.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
            for value in runs.flat_map(|run| &mut run.values) {
                if let Some(size) = value.params.get_mut("n") {
                    n.clone_into(size);
                }
            }
            let not_measured = |error: Result<()>| {
                assert!(error.is_err_and(|e| matches!(e, Error::NotMeasured { .. })), "n = {n}");
            };
            not_measured(draw_sizes(&records, "one", "one thread").map(drop));
            not_measured(draw_scaling(&records).map(drop));
            not_measured(table_sizes(&records).map(drop));
            // The others find none of their values.
            for figure in figures() {
                let _ = (figure.draw)(&records);
            }
        }
    }

    #[test]
    fn ladder_shows_skipped_rungs_with_their_reason() -> Result<()> {
        let records = MadeUp::whole().records();
        let drawing = draw_ladder(&records)?;
        assert!(drawing.alt.contains("AMX, bf16: this CPU has no such unit"), "{}", drawing.alt);
        // Rung 7 of the made-up machine: 0.3 GFLOP/s times 4⁶.
        assert!(drawing.caption.contains("300 MFLOP/s"), "{}", drawing.caption);
        assert!(drawing.alt.contains("1.23 TFLOP/s"), "{}", drawing.alt);
        assert!(drawing.caption.contains("4,096×"), "{}", drawing.caption);
        let table = table_ladder(&records)?;
        assert!(table.rows.iter().any(|row| row[1] == "this CPU has no such unit"));
        Ok(())
    }
}
