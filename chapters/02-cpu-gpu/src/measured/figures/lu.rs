//! LU decomposition in pictures: rates, where the time goes, and the width of the panels.

use super::words::without_empty_columns;
use crate::{
    lu::{BLOCK, product_share},
    measured::experiments::{devices::DEVICES, lu::PARTS},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
};

/// The figures of this file.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "cpu_gpu.lu", draw: draw_rates },
        Figure { key: "cpu_gpu.lu.share", draw: draw_share },
        Figure { key: "cpu_gpu.lu.block", draw: draw_block },
    ]
}

/// The tables of this file.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "cpu_gpu.lu", make: table_rates },
        Table { key: "cpu_gpu.lu.share", make: table_share },
    ]
}

const GIGA: f64 = 1e9;

/// The n of a value.
fn n_of(value: &Value) -> Option<usize> {
    value.params.get("n")?.parse().ok()
}

/// The sizes at which a key was measured, in their order.
fn sizes(records: &Records, key: &str) -> Result<Vec<usize>> {
    let mut sizes: Vec<usize> = records.all(key, &[]).into_iter().filter_map(n_of).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        records.find(key, &[])?;
        return Err(Error::NotMeasured { what: key.to_owned(), chapter: "cpu_gpu".to_owned() });
    }
    Ok(sizes)
}

/// A line through all values with this key and parameters, over n; `None` without any.
fn line(records: &Records, key: &str, list: ParamList, name: &str, scale: f64) -> Option<Series> {
    let mut found: Vec<(usize, &Value)> =
        records.all(key, list).into_iter().filter_map(|v| Some((n_of(v)?, v))).collect();
    found.sort_by_key(|(n, _)| *n);
    (!found.is_empty()).then(|| Series {
        name: name.to_owned(),
        points: found.iter().map(|(n, v)| (*n as f64, v.median / scale)).collect(),
        band: found.iter().map(|(_, v)| (v.low / scale, v.high / scale)).collect(),
        joined: true,
    })
}

/// Points of a line in words.
fn in_words(series: &[Series], unit: &str) -> String {
    let one = |series: &Series| {
        let points: Vec<String> = series
            .points
            .iter()
            .map(|(x, y)| format!("{} at {x}", Unit::Number.format(*y)))
            .collect();
        format!("{} ({unit}): {}", series.name, points.join(", "))
    };
    series.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn draw_rates(records: &Records) -> Result<Drawing> {
    const KEY: &str = "cpu_gpu.lu";
    let sizes = sizes(records, "cpu_gpu.lu.product")?;
    let mut series = Vec::new();
    for (name, variant, threads) in [
        ("blocked, all threads", "blocked", "all"),
        ("faer, all threads", "faer", "all"),
        ("blocked, one thread", "blocked", "one"),
        ("unblocked, one thread", "unblocked", "one"),
    ] {
        let list: ParamList = &[("variant", &variant), ("threads", &threads)];
        series.extend(line(records, KEY, list, name, GIGA));
    }
    for id in DEVICES {
        let list: ParamList = &[("variant", &"device"), ("device", &id)];
        series.extend(line(records, KEY, list, &format!("on {id}"), GIGA));
    }
    let product = line(records, "cpu_gpu.lu.product", &[("threads", &"all")], "", GIGA);
    let limits = product
        .map(|product| LimitLine {
            name: "chapter 1's product, all threads".to_owned(),
            points: product.points,
        })
        .into_iter()
        .collect();
    let last = sizes[sizes.len() - 1];
    let at = |key: &str, list: ParamList| {
        let mut list = list.to_vec();
        list.extend([("n", &last as &dyn std::fmt::Display), ("threads", &"all")]);
        records.find(key, &list)
    };
    let blocked = at(KEY, &[("variant", &"blocked")])?;
    let share = at("cpu_gpu.lu.of_product", &[])?;
    let against = match at("cpu_gpu.lu.ratio", &[]) {
        Ok(ratio) => format!(", and {} as fast as faer", ratio.text()),
        Err(_) => String::new(),
    };
    let caption = format!(
        "LU decomposition on {}: at n = {last} the blocked one reaches {} on all threads, which is {} of the \
         rate of chapter 1's product{against}.",
        records.machine.in_words(),
        blocked.text(),
        share.text(),
    );
    let alt = format!(
        "Lines of the rate over n, both axes logarithmic. {}.",
        in_words(&series, "GFLOP/s")
    );
    let ticks: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
    let plot = LinePlot {
        x: Axis::new("n", Scale::Log).ticks(in_order(ticks)),
        y: Axis::new("rate (GFLOP/s)", Scale::Log),
        series,
        limits,
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// Each number once, from the smallest to the largest.
fn in_order(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

fn draw_share(records: &Records) -> Result<Drawing> {
    const KEY: &str = "cpu_gpu.lu.share";
    let sizes = sizes(records, KEY)?;
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let of_product = |threads: &str, name: &str| {
        let list: ParamList = &[("threads", &threads), ("part", &"product")];
        line(records, KEY, list, name, 0.01)
    };
    let series: Vec<Series> = [("one", "time, one thread"), ("all", "time, all threads")]
        .into_iter()
        .filter_map(|(threads, name)| of_product(threads, name))
        .collect();
    // The prediction as a smooth line: steps of an eighth of an octave.
    let ratio = last as f64 / first as f64;
    let predicted = (0..=64).map(|i| {
        let n = first as f64 * ratio.powf(f64::from(i) / 64.0);
        (n, 100.0 * product_share(n.round() as usize, BLOCK))
    });
    let predicted_last = records.find("cpu_gpu.lu.predicted", &[("n", &last)])?;
    let text = |n: usize, threads: &str| {
        let list: ParamList = &[("n", &n), ("threads", &threads), ("part", &"product")];
        records.find(KEY, list).map(Value::text)
    };
    let caption = format!(
        "Share of the time that the blocked decomposition spends in its product, with panels of {BLOCK} columns on \
         {}: on one thread {} at n = {first} and {} at n = {last}, where {} of the operations are; on all threads \
         {} at n = {last}, because the rest gains less from threads.",
        records.machine.in_words(),
        text(first, "one")?,
        text(last, "one")?,
        predicted_last.text(),
        text(last, "all")?,
    );
    let alt =
        format!("Lines of the share over n that rise towards 100%. {}.", in_words(&series, "%"));
    let plot = LinePlot {
        x: Axis::new("n", Scale::Log).ticks(sizes.iter().map(|&n| n as f64).collect::<Vec<_>>()),
        y: Axis::new("in the product (%)", Scale::Linear).range(0.0, 100.0),
        series,
        limits: vec![LimitLine { name: "operations".to_owned(), points: predicted.collect() }],
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn draw_block(records: &Records) -> Result<Drawing> {
    const KEY: &str = "cpu_gpu.lu.block";
    let n = sizes(records, KEY)?.pop().unwrap_or_default();
    let mut found: Vec<(usize, &Value)> = records
        .all(KEY, &[("n", &n)])
        .into_iter()
        .filter_map(|value| Some((value.params.get("block")?.parse().ok()?, value)))
        .collect();
    found.sort_by_key(|(block, _)| *block);
    let fastest = found.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let Some((block, best)) = fastest else {
        return Err(Error::NotMeasured { what: KEY.to_owned(), chapter: "cpu_gpu".to_owned() });
    };
    let caption = format!(
        "The rate at n = {n} on all threads of {}, over the width of the panels: narrow ones leave the product too few \
         terms, wide ones too little work. The fastest has {block} columns: {}.",
        records.machine.in_words(),
        best.text(),
    );
    let series = vec![Series {
        name: "blocked".to_owned(),
        points: found.iter().map(|(block, v)| (*block as f64, v.median / GIGA)).collect(),
        band: found.iter().map(|(_, v)| (v.low / GIGA, v.high / GIGA)).collect(),
        joined: true,
    }];
    let highest = found.iter().map(|(_, v)| v.high / GIGA).fold(0.0, f64::max);
    let alt = format!("A line of the rate over the width. {}.", in_words(&series, "GFLOP/s"));
    let plot = LinePlot {
        x: Axis::new("columns of a panel", Scale::Log)
            .ticks(found.iter().map(|(block, _)| *block as f64).collect::<Vec<_>>()),
        y: Axis::new("rate (GFLOP/s)", Scale::Linear).range(0.0, 1.15 * highest),
        series,
        limits: vec![],
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// A cell: the value, or a dash where there is none.
fn cell(found: Result<&Value>) -> String {
    found.map_or_else(|_| "–".to_owned(), Value::text)
}

fn table_rates(records: &Records) -> Result<TableData> {
    const KEY: &str = "cpu_gpu.lu";
    let sizes = sizes(records, "cpu_gpu.lu.product")?;
    let mut rows = Vec::new();
    for n in &sizes {
        for threads in ["one", "all"] {
            let of = |variant: &str| {
                let list: ParamList = &[("n", n), ("threads", &threads), ("variant", &variant)];
                cell(records.find(KEY, list))
            };
            let list: ParamList = &[("n", n), ("threads", &threads)];
            rows.push(vec![
                n.to_string(),
                threads.to_owned(),
                of("unblocked"),
                of("blocked"),
                of("faer"),
                cell(records.find("cpu_gpu.lu.ratio", list)),
                cell(records.find("cpu_gpu.lu.of_product", list)),
            ]);
        }
    }
    Ok(without_empty_columns(TableData {
        caption: format!(
            "Rates of the decompositions on {}, sampled in turn in one run, with panels of {BLOCK} columns.",
            records.machine.in_words()
        ),
        head: [
            "n",
            "threads",
            "unblocked",
            "blocked",
            "faer",
            "blocked over faer",
            "of the product's rate",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    }))
}

fn table_share(records: &Records) -> Result<TableData> {
    const KEY: &str = "cpu_gpu.lu.share";
    let sizes = sizes(records, KEY)?;
    let mut rows = Vec::new();
    for n in &sizes {
        for threads in ["one", "all"] {
            let mut row = vec![n.to_string(), threads.to_owned()];
            for part in PARTS {
                let list: ParamList = &[("n", n), ("threads", &threads), ("part", &part)];
                row.push(cell(records.find(KEY, list)));
            }
            row.push(cell(records.find("cpu_gpu.lu.predicted", &[("n", n)])));
            rows.push(row);
        }
    }
    let mut head = vec!["n".to_owned(), "threads".to_owned()];
    head.extend(["panel", "row swaps", "triangular solve", "product"].map(str::to_owned));
    head.push("operations in the product".to_owned());
    Ok(TableData {
        caption: format!(
            "Where the time of the blocked decomposition goes on {}, with panels of {BLOCK} columns.",
            records.machine.in_words()
        ),
        head,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Samples, testing};

    /// The records of a made-up machine, with a device or without, and with faer or without.
    fn made_up(whole: bool) -> Records {
        let mut values = Vec::new();
        let mut add = |key: &str, list: ParamList, unit: Unit, median: f64| {
            let samples = Samples(vec![0.9 * median, median, 1.1 * median]);
            values.push(Value::new(key, list, unit, samples));
        };
        let rate = Unit::FlopsPerSecond;
        for n in [256, 4096] {
            for (threads, times) in [("one", 1.0), ("all", 2.0)] {
                let list: ParamList = &[("n", &n), ("threads", &threads)];
                add("cpu_gpu.lu.product", list, rate, times * 1e11);
                add("cpu_gpu.lu.of_product", list, Unit::Share, 0.75);
                let variants: &[&str] = if whole { &["blocked", "faer"] } else { &["blocked"] };
                for variant in variants {
                    let list: ParamList = &[("n", &n), ("threads", &threads), ("variant", variant)];
                    add("cpu_gpu.lu", list, rate, times * 7e10);
                }
                if whole {
                    add("cpu_gpu.lu.ratio", list, Unit::Ratio, 1.25);
                }
                for (part, share) in PARTS.into_iter().zip([0.1, 0.02, 0.08, 0.8]) {
                    let list: ParamList = &[("n", &n), ("threads", &threads), ("part", &part)];
                    add("cpu_gpu.lu.share", list, Unit::Share, share);
                }
            }
            add("cpu_gpu.lu.predicted", &[("n", &n)], Unit::Share, 0.9);
            if whole {
                let list: ParamList = &[("variant", &"device"), ("device", &"cuda"), ("n", &n)];
                add("cpu_gpu.lu", list, rate, 1e13);
            }
        }
        for (block, value) in [(8, 4e10), (128, 1.2e11), (512, 1e11)] {
            add("cpu_gpu.lu.block", &[("n", &2048), ("block", &block)], rate, value);
        }
        testing::records(&crate::chapter(), &values, &[])
    }

    #[test]
    fn figures_draw_from_records() {
        for whole in [true, false] {
            let records = made_up(whole);
            for figure in figures() {
                let drawing =
                    (figure.draw)(&records).unwrap_or_else(|e| panic!("{}: {e}", figure.key));
                assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
                assert!(drawing.svg.lines().all(|line| !line.trim().is_empty()), "{}", figure.key);
                assert!(drawing.caption.ends_with('.'), "{}", drawing.caption);
                assert!(drawing.alt.len() > 40, "{}", drawing.alt);
            }
            let rates = draw_rates(&records).unwrap();
            assert_eq!(rates.caption.contains("1.25×"), whole, "{}", rates.caption);
            assert_eq!(rates.alt.contains("on cuda"), whole, "{}", rates.alt);
            assert!(rates.caption.contains("140 GFLOP/s"), "{}", rates.caption);
        }
        let share = draw_share(&made_up(true)).unwrap();
        assert!(share.caption.contains("80.0%") && share.caption.contains("90.00%"));
        let block = draw_block(&made_up(true)).unwrap();
        assert!(block.caption.contains("128 columns: 120 GFLOP/s"), "{}", block.caption);
    }

    #[test]
    fn tables_have_rows_as_wide_as_their_heads() {
        for whole in [true, false] {
            for table in tables() {
                let data =
                    (table.make)(&made_up(whole)).unwrap_or_else(|e| panic!("{}: {e}", table.key));
                assert_eq!(data.rows.len(), 4, "{}", table.key);
                for row in &data.rows {
                    assert_eq!(row.len(), data.head.len(), "{}: {row:?}", table.key);
                }
            }
            // Where it was not measured it has no column.
            let data = table_rates(&made_up(whole)).unwrap();
            let faer = data.head.iter().position(|name| name == "faer");
            let rate = faer.map(|at| data.rows[1][at].as_str());
            assert_eq!(rate, whole.then_some("140 GFLOP/s"));
        }
    }

    #[test]
    fn pictures_say_what_was_not_measured() {
        let mut empty = made_up(true);
        let runs = empty.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
        runs.for_each(|run| run.values.clear());
        let unmeasured = testing::unmeasured();
        for figure in figures() {
            let result = (figure.draw)(&unmeasured);
            assert!(matches!(result, Err(Error::NotMeasured { .. })), "{}: {result:?}", figure.key);
            assert!((figure.draw)(&empty).is_err(), "{}", figure.key);
        }
        for table in tables() {
            let result = (table.make)(&unmeasured);
            assert!(matches!(result, Err(Error::NotMeasured { .. })), "{}: {result:?}", table.key);
        }
    }
}
