//! LU decomposition in figures: rates, where the time goes, and the width of the panels.

use super::words::without_empty_columns;
use crate::{
    lu::{BLOCK, product_share},
    measured::experiments::{
        devices::DEVICES,
        lu::{OF_PRODUCT, PARTS, PREDICTED, PRODUCT, RATE, RATIO, SHARE, WIDTH},
    },
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData,
    drawing::Lines,
    key::Quantity,
    plot::{Axis, LimitLine, Scale},
    table::Grid,
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

/// The sizes at which a key was measured, in their order; there is at least one.
fn sizes(records: &Records, key: Key) -> Result<Vec<usize>> {
    let mut sizes: Vec<usize> =
        records.over("n", key.at(&[]))?.into_iter().map(|(n, _)| n as usize).collect();
    sizes.dedup();
    if sizes.is_empty() {
        let what = key.name.to_owned();
        return Err(Error::NotMeasured { what, chapter: "cpu_gpu".to_owned() });
    }
    Ok(sizes)
}

/// A quantity on so many threads.
fn on(key: Key, n: usize, threads: &str) -> Quantity {
    key.at(&[("n", &n), ("threads", &threads)])
}

fn draw_rates(records: &Records) -> Result<Drawing> {
    let sizes = sizes(records, PRODUCT)?;
    let last = sizes[sizes.len() - 1];
    let blocked = records.text(on(RATE, last, "all").with("variant", "blocked"))?;
    let share = records.text(on(OF_PRODUCT, last, "all"))?;
    let against = match records.text(on(RATIO, last, "all")) {
        Ok(ratio) => format!(", and {ratio} as fast as faer"),
        Err(_) => String::new(),
    };
    let caption = format!(
        "LU decomposition on {}: at n = {last} the blocked one reaches {blocked} on all threads, which is {share} of the \
         rate of chapter 1's product{against}.",
        records.machine.in_words(),
    );
    let on_cpu = [
        ("blocked, all threads", "blocked", "all"),
        ("faer, all threads", "faer", "all"),
        ("blocked, one thread", "blocked", "one"),
        ("unblocked, one thread", "unblocked", "one"),
    ]
    .map(|(name, variant, threads)| {
        (name.to_owned(), RATE.at(&[("variant", &variant), ("threads", &threads)]))
    });
    let on_devices =
        DEVICES.map(|id| (format!("on {id}"), RATE.at(&[("variant", &"device"), ("device", &id)])));
    let lines = Lines {
        over: "n",
        x: Axis::new("n", Scale::Log),
        y: Axis::new("rate (GFLOP/s)", Scale::Log),
        scale: |rate| rate / GIGA,
        lines: on_cpu.into_iter().chain(on_devices).collect(),
        ..Lines::default()
    };
    let mut plot = lines.plot(records)?;
    let product = records.over("n", PRODUCT.at(&[("threads", &"all")])).unwrap_or_default();
    plot.limits.extend((!product.is_empty()).then(|| LimitLine {
        name: "chapter 1's product, all threads".to_owned(),
        points: product.into_iter().map(|(n, rate)| (n, rate.median / GIGA)).collect(),
    }));
    Ok(plot.drawing(caption))
}

fn draw_share(records: &Records) -> Result<Drawing> {
    let sizes = sizes(records, SHARE)?;
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let text =
        |n: usize, threads: &str| records.text(on(SHARE, n, threads).with("part", "product"));
    let caption = format!(
        "Fraction of the time that the blocked decomposition spends in its product, with panels of {BLOCK} columns on \
         {}: on one thread {} at n = {first} and {} at n = {last}, where {} of the operations are; on all threads \
         {} at n = {last}, because the rest gains less from threads.",
        records.machine.in_words(),
        text(first, "one")?,
        text(last, "one")?,
        records.text(PREDICTED.at(&[("n", &last)]))?,
        text(last, "all")?,
    );
    let lines = Lines {
        over: "n",
        x: Axis::new("n", Scale::Log),
        y: Axis::new("in the product (%)", Scale::Linear).range(0.0, 100.0),
        scale: |share| 100.0 * share,
        lines: [("one", "time, one thread"), ("all", "time, all threads")]
            .map(|(threads, name)| {
                (name.to_owned(), SHARE.at(&[("threads", &threads), ("part", &"product")]))
            })
            .into(),
        ..Lines::default()
    };
    let mut plot = lines.plot(records)?;
    // The prediction as a smooth line: steps of an eighth of an octave.
    let ratio = last as f64 / first as f64;
    let predicted = (0..=64).map(|i| {
        let n = first as f64 * ratio.powf(f64::from(i) / 64.0);
        (n, 100.0 * product_share(n.round() as usize, BLOCK))
    });
    plot.limits.push(LimitLine { name: "operations".to_owned(), points: predicted.collect() });
    Ok(plot.drawing(caption))
}

fn draw_block(records: &Records) -> Result<Drawing> {
    let n = sizes(records, WIDTH)?.pop().unwrap_or_default();
    let of_n = WIDTH.at(&[("n", &n)]);
    let found = records.over("block", &of_n)?;
    let fastest = found.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let Some((block, best)) = fastest else {
        let what = WIDTH.name.to_owned();
        return Err(Error::NotMeasured { what, chapter: "cpu_gpu".to_owned() });
    };
    let caption = format!(
        "The rate at n = {n} on all threads of {}, over the width of the panels: narrow ones leave the product too few \
         terms, wide ones too little work. The fastest has {block} columns: {}.",
        records.machine.in_words(),
        best.text(),
    );
    let highest = found.iter().map(|(_, v)| v.high / GIGA).fold(0.0, f64::max);
    Lines {
        over: "block",
        x: Axis::new("columns of a panel", Scale::Log),
        y: Axis::new("rate (GFLOP/s)", Scale::Linear).range(0.0, 1.15 * highest),
        scale: |rate| rate / GIGA,
        lines: vec![("blocked".to_owned(), of_n)],
        ..Lines::default()
    }
    .draw(records, caption)
}

/// A row for each size on one thread and on all.
fn rows(sizes: &[usize]) -> impl Iterator<Item = (usize, &'static str)> {
    sizes.iter().flat_map(|n| [(*n, "one"), (*n, "all")])
}

fn table_rates(records: &Records) -> Result<TableData> {
    let sizes = sizes(records, PRODUCT)?;
    let caption = format!(
        "Rates of the decompositions on {}, sampled in turn in one run, with panels of {BLOCK} columns.",
        records.machine.in_words()
    );
    let mut grid = Grid::new(rows(&sizes))
        .column("n", |(n, _)| n.to_string())
        .column("threads", |(_, threads)| *threads);
    for variant in ["unblocked", "blocked", "faer"] {
        grid = grid
            .column(variant, move |(n, threads)| on(RATE, *n, threads).with("variant", variant));
    }
    grid.column("blocked over faer", |(n, threads)| on(RATIO, *n, threads))
        .column("of the product's rate", |(n, threads)| on(OF_PRODUCT, *n, threads))
        .table(records, caption)
        .map(without_empty_columns)
}

fn table_share(records: &Records) -> Result<TableData> {
    let sizes = sizes(records, SHARE)?;
    let caption = format!(
        "Where the time of the blocked decomposition goes on {}, with panels of {BLOCK} columns.",
        records.machine.in_words()
    );
    let mut grid = Grid::new(rows(&sizes))
        .column("n", |(n, _)| n.to_string())
        .column("threads", |(_, threads)| *threads);
    let heads = ["panel", "row swaps", "triangular solve", "product"];
    for (head, part) in heads.into_iter().zip(PARTS) {
        grid = grid.column(head, move |(n, threads)| on(SHARE, *n, threads).with("part", part));
    }
    grid.column("operations in the product", |(n, _)| PREDICTED.at(&[("n", n)]))
        .table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::testing::{MadeUp, are_drawn};

    /// The records of a made-up machine, with a device or without, and with faer or without.
    fn made_up(whole: bool) -> Records {
        let mut all = MadeUp::default();
        for n in [256, 4096] {
            for (threads, times) in [("one", 1.0), ("all", 2.0)] {
                all.add(on(PRODUCT, n, threads), times * 1e11);
                all.add(on(OF_PRODUCT, n, threads), 0.75);
                let variants: &[&str] = if whole { &["blocked", "faer"] } else { &["blocked"] };
                for variant in variants {
                    all.add(on(RATE, n, threads).with("variant", variant), times * 7e10);
                }
                if whole {
                    all.add(on(RATIO, n, threads), 1.25);
                }
                for (part, share) in PARTS.into_iter().zip([0.1, 0.02, 0.08, 0.8]) {
                    all.add(on(SHARE, n, threads).with("part", part), share);
                }
            }
            all.add(PREDICTED.at(&[("n", &n)]), 0.9);
            if whole {
                let list = RATE.at(&[("variant", &"device"), ("device", &"cuda"), ("n", &n)]);
                all.add(list, 1e13);
            }
        }
        for (block, rate) in [(8, 4e10), (128, 1.2e11), (512, 1e11)] {
            all.add(WIDTH.at(&[("n", &2048), ("block", &block)]), rate);
        }
        all.records(&crate::chapter())
    }

    #[test]
    fn figures_and_tables_are_made_from_records() {
        for whole in [true, false] {
            let records = made_up(whole);
            are_drawn(&figures(), &tables(), &records);
            let rates = draw_rates(&records).unwrap();
            assert_eq!(rates.caption.contains("1.25×"), whole, "{}", rates.caption);
            assert_eq!(rates.alt.contains("on cuda"), whole, "{}", rates.alt);
            assert!(rates.caption.contains("140 GFLOP/s"), "{}", rates.caption);
            for table in tables() {
                assert_eq!((table.make)(&records).unwrap().rows.len(), 4, "{}", table.key);
            }
            // What was not measured has no column.
            let data = table_rates(&records).unwrap();
            let faer = data.head.iter().position(|name| name == "faer");
            let rate = faer.map(|at| data.rows[1][at].as_str());
            assert_eq!(rate, whole.then_some("140 GFLOP/s"));
        }
        let share = draw_share(&made_up(true)).unwrap();
        assert!(share.caption.contains("80.0%") && share.caption.contains("90.00%"));
        let block = draw_block(&made_up(true)).unwrap();
        assert!(block.caption.contains("128 columns: 120 GFLOP/s"), "{}", block.caption);
    }

    #[test]
    fn pictures_of_an_experiment_that_left_nothing_are_errors() {
        let mut empty = made_up(true);
        let runs = empty.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
        runs.for_each(|run| run.values.clear());
        for figure in figures() {
            assert!((figure.draw)(&empty).is_err(), "{}", figure.key);
        }
    }
}
