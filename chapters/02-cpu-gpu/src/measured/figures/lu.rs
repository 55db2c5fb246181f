//! LU decomposition: where the time goes, over the fraction of the operations as a curve, and a table of rates.

use super::words::without_empty_columns;
use crate::{
    lu::{BLOCK, product_share},
    measured::experiments::lu::{OF_PRODUCT, PREDICTED, PRODUCT, RATE, RATIO, SHARE},
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
    vec![Figure { key: "cpu_gpu.lu.share", draw: draw_share }]
}

/// The tables of this file.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "cpu_gpu.lu", make: table_rates }]
}

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

fn table_rates(records: &Records) -> Result<TableData> {
    let sizes = sizes(records, PRODUCT)?;
    let caption = format!(
        "Rates of the decompositions on {}, sampled in turn in one run, with panels of {BLOCK} columns.",
        records.machine.in_words()
    );
    let rows = sizes.iter().flat_map(|n| [(*n, "one"), (*n, "all")]);
    let mut grid = Grid::new(rows)
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

#[cfg(test)]
mod tests {
    use super::*;
    use lab::testing::{MadeUp, are_drawn};

    /// The records of a made-up machine, with faer or without.
    fn made_up(faer: bool) -> Records {
        let mut all = MadeUp::default();
        for n in [256, 4096] {
            for (threads, times) in [("one", 1.0), ("all", 2.0)] {
                all.add(on(PRODUCT, n, threads), times * 1e11);
                all.add(on(OF_PRODUCT, n, threads), 0.75);
                let variants: &[&str] = if faer { &["blocked", "faer"] } else { &["blocked"] };
                for variant in variants {
                    all.add(on(RATE, n, threads).with("variant", variant), times * 7e10);
                }
                if faer {
                    all.add(on(RATIO, n, threads), 1.25);
                }
                all.add(on(SHARE, n, threads).with("part", "product"), 0.8);
            }
            all.add(PREDICTED.at(&[("n", &n)]), 0.9);
        }
        all.records(&crate::chapter())
    }

    #[test]
    fn figure_and_table_are_made_from_records() {
        for with_faer in [true, false] {
            let records = made_up(with_faer);
            are_drawn(&figures(), &tables(), &records);
            // What was not measured has no column.
            let data = table_rates(&records).unwrap();
            assert_eq!(data.rows.len(), 4);
            let faer = data.head.iter().position(|name| name == "faer");
            let rate = faer.map(|at| data.rows[1][at].as_str());
            assert_eq!(rate, with_faer.then_some("140 GFLOP/s"));
        }
        let share = draw_share(&made_up(true)).unwrap();
        assert!(share.caption.contains("80.0%") && share.caption.contains("90.00%"));
    }

    #[test]
    fn pictures_of_an_experiment_that_left_nothing_are_errors() {
        let mut empty = made_up(true);
        let runs = empty.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
        runs.for_each(|run| run.values.clear());
        assert!(draw_share(&empty).is_err());
    }
}
