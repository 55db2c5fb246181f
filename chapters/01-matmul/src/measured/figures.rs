//! The chapter's figures and tables, made from one machine's records.

use super::experiments::{
    BANDWIDTH, CONTENDERS, INTENSITY, LADDER, LADDER_N, MISSES, MISSES_N, NEARBY, NEARBY_N,
    NEARBY_SPEEDUP, PEAK, PER_STEP, ROOFLINE, SCALING, SCALING_THREADS, SHAPES, SHAPES_RATIO,
    SIZES, SIZES_RATIO, SPEEDUP, TOTAL, VECTORISE, VECTORISE_SPEEDUP,
};
use crate::{Rung, cache::Pattern, ladder::ladder};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Limits, Lines},
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::{Entry, Grid},
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
        Table { key: "matmul.nearby", make: table_nearby },
        Table { key: "matmul.sizes", make: table_sizes },
        Table { key: "matmul.shapes", make: table_shapes },
    ]
}

fn giga(rate: f64) -> f64 {
    rate / 1e9
}

fn rate_axis(scale: Scale) -> Axis {
    Axis::new("rate (GFLOP/s)", scale)
}

fn rate(rung: &Rung) -> Quantity {
    LADDER.at(&[("n", &LADDER_N), ("rung", &rung.key)])
}

/// How many times as fast as the first rung the fastest one is, for each kind of inputs that was measured.
fn totals(records: &Records) -> Result<String> {
    let total = |inputs: &str| records.text(TOTAL.at(&[("n", &LADDER_N), ("inputs", &inputs)]));
    let mut text = format!("the fastest f32 rung is {} as fast", total("f32")?);
    if let Ok(bf16) = total("bf16") {
        text += &format!(", the fastest one that rounds its inputs to bf16 {bf16}");
    }
    Ok(text)
}

fn draw_ladder(records: &Records) -> Result<Drawing> {
    let rungs = ladder();
    let mut caption = format!(
        "One product of {LADDER_N}×{LADDER_N} matrices on {}: {} with three plain loops; {}.",
        records.machine.in_words(),
        records.text(rate(&rungs[0]))?,
        totals(records)?,
    );
    // A rung that this CPU cannot run has no bar.
    let (mut bars, mut whys) = (Vec::new(), Vec::new());
    for rung in &rungs {
        match records.get(rate(rung)) {
            Err(Error::Skipped { why, .. }) => whys.push(why),
            _ => bars.push((rung.name.to_owned(), rate(rung))),
        }
    }
    whys.dedup();
    if !whys.is_empty() {
        caption += &format!(" Rungs without a bar: {}.", whys.join("; "));
    }
    let axis = rate_axis(Scale::Log).toggled();
    Bars { axis, scale: giga, bars, limits: Limits::OfValues }.draw(records, caption)
}

fn draw_misses(records: &Records) -> Result<Drawing> {
    let of = |key: Key, pattern: Pattern, event: &str| {
        key.at(&[("n", &MISSES_N), ("rung", &pattern.name()), ("event", &event)])
    };
    let caption = format!(
        "Cache lines fetched in a product of {MISSES_N}×{MISSES_N} matrices, counted by the simulator: \
         {} for each multiply-add into the first level in the naive order, {} in the packed one.",
        records.text(of(PER_STEP, Pattern::Naive, "l1"))?,
        records.text(of(PER_STEP, Pattern::Packed, "l1"))?,
    );
    let levels = [("l1", "first level"), ("l2", "second level")];
    let bars = Pattern::ALL.into_iter().flat_map(|pattern| {
        levels.map(|(event, level)| {
            (format!("{}, {level}", pattern.name()), of(MISSES, pattern, event))
        })
    });
    let axis = Axis::new("lines fetched", Scale::Log);
    Bars { axis, bars: bars.collect(), ..Bars::default() }.draw(records, caption)
}

fn draw_vectorise(records: &Records) -> Result<Drawing> {
    let caption = format!(
        "Multiply-adds on data in the first-level cache, compiled with the same options: eight \
         sums run {} as fast as one, on {}.",
        records.text(VECTORISE_SPEEDUP.at(&[("loop", &"eight-sums")]))?,
        records.machine.in_words(),
    );
    let bars = [
        ("one running sum", "one-sum"),
        ("eight sums", "eight-sums"),
        ("a sum for each element", "row-update"),
    ]
    .map(|(name, key)| (name.to_owned(), VECTORISE.at(&[("loop", &key)])));
    Bars { axis: rate_axis(Scale::Linear), scale: giga, bars: bars.into(), limits: Limits::None }
        .draw(records, caption)
}

fn draw_roofline(records: &Records) -> Result<Drawing> {
    let peak = records.get(PEAK.at(&[]))?;
    let bandwidth = |from: &str| records.get(BANDWIDTH.at(&[("from", &from)]));
    let intensity = |rung: &str| records.get(INTENSITY.at(&[("rung", &rung)]));
    let rate = |rung: &str| records.get(ROOFLINE.at(&[("rung", &rung)]));

    let (low, high) = (1.0 / 64.0, 1024.0);
    let mut series = Vec::new();
    for pattern in Pattern::ALL {
        let rung = pattern.name();
        let at = [(intensity(rung)?.median, rate(rung)?)];
        series.push(Series { joined: false, ..Series::of(rung, &at, giga) });
    }
    // A bandwidth limits until its line meets the peak.
    let slope = |name: &str, bandwidth: &Value| {
        let meet = peak.median / bandwidth.median;
        LimitLine {
            name: format!("{name}: {}", bandwidth.text()),
            points: vec![(low, giga(low * bandwidth.median)), (meet, giga(peak.median))],
        }
    };
    let limits = vec![
        slope("from the second-level cache", bandwidth("l2")?),
        slope("from memory", bandwidth("memory")?),
        LimitLine {
            name: format!("one core's peak: {}", peak.text()),
            points: vec![(low, giga(peak.median)), (high, giga(peak.median))],
        },
    ];
    let caption = format!(
        "Rates of one core at n = {MISSES_N} over operations per byte that the first-level cache fetches, on {}: \
         the packed loops reach {} under a peak of {}. With every matrix read or written once, a product of \
         this size has {} operations per byte.",
        records.machine.in_words(),
        rate("packed")?.text(),
        peak.text(),
        intensity("compulsory")?.text(),
    );
    let x = Axis::new("operations per byte", Scale::Log).range(low, high);
    Ok(LinePlot { x, y: rate_axis(Scale::Log), series, limits }.drawing(caption))
}

/// The contenders' names in the records and in figures.
fn contenders() -> [(&'static str, &'static str); 3] {
    CONTENDERS.map(|who| (who, if who == "ours" { "this crate" } else { who }))
}

/// The sizes of the values that name one, with the values. A received record may name anything: what is no size is left
/// out.
fn by_size<'r>(records: &'r Records, quantity: &Quantity) -> Result<Vec<(usize, &'r Value)>> {
    let found = records.every(quantity)?.into_iter();
    let sizes = found.filter_map(|value| {
        let n = value.param("n")?.parse().ok()?;
        (n > 0).then_some((n, value))
    });
    let sizes: Vec<(usize, &Value)> = sizes.collect();
    if sizes.is_empty() {
        let chapter = "matmul".to_owned();
        return Err(Error::NotMeasured { what: quantity.to_string(), chapter });
    }
    Ok(sizes)
}

/// The sizes as ticks of an axis.
fn size_axis(sizes: &[(usize, &Value)]) -> Axis {
    Axis::new("n", Scale::Log).ticks(sizes.iter().map(|&(n, _)| n as f64).collect::<Vec<_>>())
}

fn draw_sizes(records: &Records, threads: &str, words: &str) -> Result<Drawing> {
    let ratios = by_size(records, &SIZES_RATIO.at(&[("threads", &threads)]))?;
    let said = ratios.iter().map(|(n, ratio)| format!("{} at n = {n}", ratio.text()));
    let caption = format!(
        "Square products on {words} of {}. This crate against the faster library of each round: {}.",
        records.machine.in_words(),
        said.collect::<Vec<_>>().join(", ")
    );
    let line = |(who, name): (&str, &str)| {
        (name.to_owned(), SIZES.at(&[("threads", &threads), ("who", &who)]))
    };
    let mut plot = Lines {
        over: "n",
        x: size_axis(&ratios),
        y: rate_axis(Scale::Linear),
        scale: giga,
        lines: contenders().map(line).into(),
        limits: Limits::OfValues,
    }
    .plot(records)?;
    let limits = plot.limits.iter().flat_map(|limit| limit.points.iter().map(|point| point.1));
    let tops = plot.series.iter().flat_map(|line| line.band.iter().map(|band| band.1));
    let highest = limits.chain(tops).fold(0.0, f64::max);
    plot.y = plot.y.range(0.0, 1.15 * highest).toggled();
    Ok(plot.drawing(caption))
}

fn draw_scaling(records: &Records) -> Result<Drawing> {
    let threads = records.get(SCALING_THREADS.at(&[]))?;
    let points = by_size(records, &SCALING.at(&[]))?;
    let ((small, first), (large, last)) = (points[0], points[points.len() - 1]);
    let caption = format!(
        "What {} threads gain over one on {}: {} at n = {small}, {} at n = {large}.",
        threads.text(),
        records.machine.in_words(),
        first.text(),
        last.text(),
    );
    let top = 1.25 * threads.median.max(last.median);
    Lines {
        over: "n",
        x: size_axis(&points),
        y: Axis::new("times as fast as one thread", Scale::Linear).range(0.0, top),
        lines: vec![("all threads".to_owned(), SCALING.at(&[]))],
        limits: Limits::These(vec![("proportional".to_owned(), threads.median)]),
        ..Lines::default()
    }
    .draw(records, caption)
}

fn table_ladder(records: &Records) -> Result<TableData> {
    let over = |rung: &Rung, over: &str| {
        SPEEDUP.at(&[("n", &LADDER_N), ("rung", &rung.key), ("over", &over)])
    };
    let caption = format!(
        "Every rung at n = {LADDER_N} on {}: {}.",
        records.machine.in_words(),
        totals(records)?
    );
    Grid::new(ladder())
        .column("rung", |rung| rung.name)
        .column("rate", |rung| Entry::OrWhy(rate(rung)))
        .column("of the peak", |rung| Entry::OfLimit(rate(rung)))
        .column("over the previous rung", |rung| over(rung, "previous"))
        .column("over naive", |rung| over(rung, "naive"))
        .table(records, caption)
}

fn table_nearby(records: &Records) -> Result<TableData> {
    let mut rungs = ladder();
    let measured = records.every(NEARBY.at(&[("n", &LADDER_N)]))?;
    rungs.retain(|rung| measured.iter().any(|value| value.param("rung") == Some(rung.key)));
    let total = |n: usize| {
        let ratios = records.every(NEARBY_SPEEDUP.at(&[("n", &n)]))?;
        let highest = ratios.iter().map(|ratio| ratio.median).fold(0.0, f64::max);
        Ok::<_, Error>(Unit::Ratio.format(highest))
    };
    let [beside, of_ladder] = NEARBY_N;
    let caption = format!(
        "On {}, sampled in turn: the fastest rung is {} as fast as the three loops at n = {beside}, and {} at \
         n = {of_ladder}.",
        records.machine.in_words(),
        total(beside)?,
        total(of_ladder)?
    );
    let mut grid = Grid::new(rungs).column("rung", |rung| rung.name);
    for n in NEARBY_N {
        let of = move |key: Key, rung: &Rung| key.at(&[("n", &n), ("rung", &rung.key)]);
        grid = grid
            .column(format!("n = {n}"), move |rung| of(NEARBY, rung))
            .column("over naive", move |rung| of(NEARBY_SPEEDUP, rung));
    }
    grid.table(records, caption)
}

fn table_sizes(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let mut lowest = f64::INFINITY;
    for (n, _) in by_size(records, &SIZES_RATIO.at(&[("threads", &"one")]))? {
        for threads in ["one", "all"] {
            let ratio = SIZES_RATIO.at(&[("n", &n), ("threads", &threads)]);
            lowest = lowest.min(records.get(&ratio)?.median);
            rows.push((n, threads, ratio));
        }
    }
    let caption = format!(
        "This crate and the libraries on {}, sampled in turn in one run. The ratio is to the faster \
         library of each round; the lowest is {}.",
        records.machine.in_words(),
        Unit::Ratio.format(lowest)
    );
    let mut grid = Grid::new(rows)
        .column("n", |(n, _, _)| n.to_string())
        .column("threads", |(_, threads, _)| *threads);
    for (who, name) in contenders() {
        grid = grid.column(name, move |(n, threads, _)| {
            SIZES.at(&[("n", n), ("threads", threads), ("who", &who)])
        });
    }
    grid.column("ratio", |(_, _, ratio)| ratio.clone()).table(records, caption)
}

fn table_shapes(records: &Records) -> Result<TableData> {
    let ratios = records.every(SHAPES_RATIO.at(&[]))?;
    let won = ratios.iter().filter(|ratio| ratio.median >= 1.0).count();
    let caption = format!(
        "The products of a training step on {}: this crate is at least as fast as the faster library in \
         {won} of {} cases.",
        records.machine.in_words(),
        ratios.len()
    );
    let of = |ratio: &Value, name: &str| ratio.param(name).unwrap_or_default().to_owned();
    let mut grid = Grid::new(ratios)
        .column("product", |ratio| {
            let layer = of(ratio, "layer").replace('x', "×");
            format!("{layer}, {}, batch {}", of(ratio, "pass"), of(ratio, "batch"))
        })
        .column("threads", |ratio| of(ratio, "threads"));
    for (who, name) in contenders() {
        grid = grid.column(name, move |ratio| {
            let given = SHAPES_RATIO.params.iter();
            given.fold(SHAPES.at(&[("who", &who)]), |rate, name| rate.with(name, of(ratio, name)))
        });
    }
    grid.column("ratio", |ratio| ratio.text()).table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{
        record::Limit,
        testing::{self, MadeUp},
    };

    /// Values of a machine without AVX-512 and AMX, made up, with all keys that figures need.
    fn made_up() -> Records {
        let mut all = MadeUp::default();
        let peak = || Limit { name: "a made-up peak".to_owned(), value: 2e11 };
        for (at, rung) in ladder().iter().enumerate() {
            if rung.bf16 || rung.key == "avx512" {
                all.skip(rate(rung), "this CPU has no such unit");
                continue;
            }
            all.add(rate(rung).against(peak()), 3e8 * 4f64.powi(at as i32));
            for over in ["previous", "naive"] {
                let list = SPEEDUP.at(&[("n", &LADDER_N), ("rung", &rung.key), ("over", &over)]);
                all.add(list, 4.0);
            }
        }
        all.add(TOTAL.at(&[("n", &LADDER_N), ("inputs", &"f32")]), 4096.0);
        for (n, first) in NEARBY_N.into_iter().zip([2e9, 5e8]) {
            for (rung, rate) in [("naive", first), ("reordered", 1e10), ("threads", 4e11)] {
                all.add(NEARBY.at(&[("n", &n), ("rung", &rung)]), rate);
                if rung != "naive" {
                    all.add(NEARBY_SPEEDUP.at(&[("n", &n), ("rung", &rung)]), rate / first);
                }
            }
        }
        for (at, pattern) in Pattern::ALL.into_iter().enumerate() {
            let (rung, at) = (pattern.name(), at as f64 + 1.0);
            for event in ["loads", "stores", "l1", "l2"] {
                let of = |key: Key| key.at(&[("n", &MISSES_N), ("rung", &rung), ("event", &event)]);
                all.add(of(MISSES), 1e8 / at).add(of(PER_STEP), 1.0 / at);
            }
            all.add(ROOFLINE.at(&[("rung", &rung)]).against(peak()), at * 1e10);
            all.add(INTENSITY.at(&[("rung", &rung)]), at);
        }
        all.add(INTENSITY.at(&[("rung", &"compulsory")]), 85.3);
        all.add(PEAK.at(&[]), 1e11);
        for (from, bandwidth) in [("l2", 1e11), ("memory", 1e10)] {
            all.add(BANDWIDTH.at(&[("from", &from)]), bandwidth);
        }
        for name in ["one-sum", "eight-sums", "row-update"] {
            all.add(VECTORISE.at(&[("loop", &name)]).against(peak()), 2e9);
            all.add(VECTORISE_SPEEDUP.at(&[("loop", &name)]), 5.25);
        }
        for threads in ["one", "all"] {
            let sizes = |n: usize| SIZES_RATIO.at(&[("n", &n), ("threads", &threads)]);
            all.add(sizes(512), 1.25).add(sizes(1024), 1.25);
            let shape = [("batch", "32"), ("layer", "784x128"), ("pass", "forward")];
            let shape = |key: Key| {
                shape.iter().fold(key.at(&[("threads", &threads)]), |q, (name, v)| q.with(name, v))
            };
            all.add(shape(SHAPES_RATIO), 1.5);
            for (who, _) in contenders() {
                all.add(shape(SHAPES).with("who", who).against(peak()), 8e10);
                for n in [512, 1024] {
                    let list = SIZES.at(&[("n", &n), ("threads", &threads), ("who", &who)]);
                    all.add(list.against(peak()), 9e10);
                }
            }
        }
        all.add(SCALING_THREADS.at(&[]), 2.0);
        all.add(SCALING.at(&[("n", &32)]), 1.75).add(SCALING.at(&[("n", &1024)]), 1.75);
        all.records(&crate::chapter())
    }

    #[test]
    fn figures_and_tables_are_made_from_records() -> Result<()> {
        let records = made_up();
        testing::are_drawn(&figures(), &tables(), &records);
        let with_number = |text: &str| assert!(text.chars().any(|c| c.is_ascii_digit()), "{text}");
        for figure in figures() {
            with_number(&(figure.draw)(&records)?.caption);
        }
        for table in tables() {
            with_number(&(table.make)(&records)?.caption);
        }
        Ok(())
    }

    #[test]
    fn nothing_is_made_from_runs_that_left_no_value() {
        let mut empty = made_up();
        let runs = empty.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
        runs.for_each(|run| run.values.clear());
        for figure in figures() {
            assert!((figure.draw)(&empty).is_err(), "{}: drawn without values", figure.key);
        }
        for table in tables() {
            assert!((table.make)(&empty).is_err(), "{}: made without values", table.key);
        }
    }

    #[test]
    fn a_size_that_is_none_is_not_measured() {
        for n in ["nan", "-1", "1.5", "1e400", "", "0"] {
            let mut records = made_up();
            let runs = records.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
            for value in runs.flat_map(|run| &mut run.values) {
                if let Some(size) = value.params.get_mut("n") {
                    n.clone_into(size);
                }
            }
            let not_measured = |made: Result<()>| {
                assert!(made.is_err_and(|e| matches!(e, Error::NotMeasured { .. })), "n = {n}");
            };
            not_measured(draw_sizes(&records, "one", "one thread").map(drop));
            not_measured(draw_scaling(&records).map(drop));
            not_measured(table_sizes(&records).map(drop));
            // The others look for sizes of their own and do not find them.
            assert!(draw_ladder(&records).is_err() && draw_misses(&records).is_err());
            assert!(table_ladder(&records).is_err());
        }
    }

    #[test]
    fn ladder_shows_skipped_rungs_with_their_reason() -> Result<()> {
        let records = made_up();
        let drawing = draw_ladder(&records)?;
        assert!(!drawing.alt.contains("AMX"), "{}", drawing.alt);
        let why = "Rungs without a bar: this CPU has no such unit.";
        assert!(drawing.caption.contains(why), "{}", drawing.caption);
        // Rung 7 of the made-up machine: 0.3 GFLOP/s times 4⁶.
        assert!(drawing.caption.contains("300 MFLOP/s"), "{}", drawing.caption);
        assert!(drawing.alt.contains("1.23 TFLOP/s"), "{}", drawing.alt);
        assert!(drawing.caption.contains("4,096×"), "{}", drawing.caption);
        let table = table_ladder(&records)?;
        assert!(table.rows.iter().any(|row| row[1] == "this CPU has no such unit"));
        Ok(())
    }

    #[test]
    fn another_size_shows_what_is_due_to_the_size() -> Result<()> {
        let table = table_nearby(&made_up())?;
        assert!(
            table.caption.contains("200× as fast as the three loops at n = 1000"),
            "{}",
            table.caption
        );
        assert!(table.caption.contains("800× at n = 1024"), "{}", table.caption);
        assert_eq!(table.rows.len(), 3, "the rungs that were measured");
        Ok(())
    }
}
