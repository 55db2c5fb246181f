//! The chapter's figures and tables that are more than their page declares, made from one machine's records.

use super::experiments::{
    BANDWIDTH, CONTENDERS, INTENSITY, LADDER, LADDER_N, MISSES_N, PEAK, ROOFLINE, SHAPES,
    SHAPES_RATIO, SPEEDUP, TOTAL,
};
use crate::{Rung, cache::Pattern, ladder::ladder};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData,
    drawing::{Bars, Limits},
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::{Entry, Grid},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "matmul.ladder", draw: draw_ladder },
        Figure { key: "matmul.roofline", draw: draw_roofline },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "matmul.ladder", make: table_ladder },
        Table { key: "matmul.shapes", make: table_shapes },
    ]
}

fn giga(rate: f64) -> f64 {
    rate / 1e9
}

fn rate_axis() -> Axis {
    Axis::new("rate (GFLOP/s)", Scale::Log)
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
    let axis = rate_axis().toggled();
    Bars { axis, scale: giga, bars, limits: Limits::OfValues }.draw(records, caption)
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
    Ok(LinePlot { x, y: rate_axis(), series, limits }.drawing(caption))
}

/// The contenders' names in the records and in figures.
fn contenders() -> [(&'static str, &'static str); 3] {
    CONTENDERS.map(|who| (who, if who == "ours" { "this crate" } else { who }))
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
        Key,
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
        for (at, pattern) in Pattern::ALL.into_iter().enumerate() {
            let (rung, at) = (pattern.name(), at as f64 + 1.0);
            all.add(ROOFLINE.at(&[("rung", &rung)]).against(peak()), at * 1e10);
            all.add(INTENSITY.at(&[("rung", &rung)]), at);
        }
        all.add(INTENSITY.at(&[("rung", &"compulsory")]), 85.3);
        all.add(PEAK.at(&[]), 1e11);
        for (from, bandwidth) in [("l2", 1e11), ("memory", 1e10)] {
            all.add(BANDWIDTH.at(&[("from", &from)]), bandwidth);
        }
        for threads in ["one", "all"] {
            let shape = [("batch", "32"), ("layer", "784x128"), ("pass", "forward")];
            let shape = |key: Key| {
                shape.iter().fold(key.at(&[("threads", &threads)]), |q, (name, v)| q.with(name, v))
            };
            all.add(shape(SHAPES_RATIO), 1.5);
            for (who, _) in contenders() {
                all.add(shape(SHAPES).with("who", who).against(peak()), 8e10);
            }
        }
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
}
