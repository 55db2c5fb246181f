//! This chapter's figures and tables, made from one machine's records.

use super::experiments::{BANDWIDTH, FOOLING, PEAK, RIDGE, RIGHT, THREADS, WRONG};
use crate::{
    Drawing, Figure, Key, Records, Result, Samples, Table, TableData, Unit,
    drawing::{Bars, Limits},
    fooling::Mistake,
    key::Quantity,
    peak::Traffic,
    plot::{Axis, Scale},
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "lab.peaks", draw: draw_peaks },
        Figure { key: "lab.peaks.bandwidth", draw: draw_bandwidth },
        Figure { key: "lab.fooling", draw: draw_fooling },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "lab.peaks", make: table_peaks },
        Table { key: "lab.fooling", make: table_fooling },
    ]
}

/// `one core`, `all 2 cores`.
fn who(records: &Records, threads: &str) -> String {
    match threads {
        "all" => format!("all {} cores", records.machine.cores),
        _ => "one core".to_owned(),
    }
}

/// The names of the units of arithmetic, as the records have them and as readers see them.
const UNITS: [(&str, &str); 3] =
    [("fma-f32", "f32 FMA"), ("avx512-bf16", "bf16 AVX-512"), ("amx-bf16", "bf16 AMX")];

fn peak(unit: &str, threads: &str) -> Quantity {
    PEAK.at(&[("unit", &unit), ("threads", &threads)])
}

fn bandwidth(traffic: Traffic, threads: &str) -> Quantity {
    BANDWIDTH.at(&[("kind", &traffic.name()), ("threads", &threads)])
}

fn ridge(threads: &str) -> Quantity {
    RIDGE.at(&[("threads", &threads)])
}

/// A bar of each row for one core and for all, by the row's label.
fn on_cores(
    records: &Records,
    rows: impl IntoIterator<Item = (String, [Quantity; 2])>,
) -> Vec<(String, Quantity)> {
    let bars = |(label, both): (String, [Quantity; 2])| {
        let named = |threads: &str| format!("{label}, {}", who(records, threads));
        THREADS.map(named).into_iter().zip(both)
    };
    rows.into_iter().flat_map(bars).collect()
}

fn draw_peaks(records: &Records) -> Result<Drawing> {
    let [one, all] = [records.get(peak("fma-f32", "1"))?, records.get(peak("fma-f32", "all"))?];
    let caption = format!(
        "The most this CPU can do: {} of f32 multiply-adds on one core, {} on all {} ({} times as much).",
        one.text(),
        all.text(),
        records.machine.cores,
        Unit::Number.format(all.median / one.median),
    );
    let rows = UNITS.map(|(unit, label)| (label.to_owned(), THREADS.map(|t| peak(unit, t))));
    Bars {
        axis: Axis::new("rate (GFLOP/s)", Scale::Linear),
        scale: |rate| rate / 1e9,
        bars: on_cores(records, rows),
        limits: Limits::None,
    }
    .draw(records, caption)
}

fn draw_bandwidth(records: &Records) -> Result<Drawing> {
    let caption = format!(
        "One core reads {} from memory, all cores {}. In the time that one byte takes to arrive, one \
         core could do {} operations.",
        records.text(bandwidth(Traffic::Read, "1"))?,
        records.text(bandwidth(Traffic::Read, "all"))?,
        records.text(ridge("1"))?,
    );
    let rows = Traffic::ALL
        .map(|traffic| (traffic.name().to_owned(), THREADS.map(|t| bandwidth(traffic, t))));
    Bars {
        axis: Axis::new("bandwidth (GB/s)", Scale::Linear),
        scale: |rate| rate / 1e9,
        bars: on_cores(records, rows),
        limits: Limits::None,
    }
    .draw(records, caption)
}

fn table_peaks(records: &Records) -> Result<TableData> {
    let units = UNITS.map(|(unit, label)| (label.to_owned(), THREADS.map(|t| peak(unit, t))));
    let memory = Traffic::ALL.map(|traffic| {
        (format!("memory, {}", traffic.name()), THREADS.map(|t| bandwidth(traffic, t)))
    });
    let ridges = [("operations per byte at the ridge".to_owned(), THREADS.map(ridge))];
    Grid::new(units.into_iter().chain(memory).chain(ridges))
        .column("limit", |(label, _)| label.clone())
        .column(who(records, "1"), |(_, both)| both[0].clone())
        .column(who(records, "all"), |(_, both)| both[1].clone())
        .table(records, format!("The limits of this {}, measured.", records.machine.cpu))
}

fn of(key: Key, mistake: Mistake) -> Quantity {
    key.at(&[("mistake", &mistake.name())])
}

fn draw_fooling(records: &Records) -> Result<Drawing> {
    let medians = Mistake::ALL.map(|mistake| Ok(records.get(of(FOOLING, mistake))?.median));
    let medians = Samples(medians.into_iter().collect::<Result<_>>()?);
    let caption = format!(
        "Six ways to measure the time of a small job wrongly. The lowest report is {} times too little, the highest \
         {} times too much.",
        Unit::Count.format((1.0 / medians.quantile(0.0)).round()),
        Unit::Number.format(medians.quantile(1.0)),
    );
    let bar = |mistake: Mistake| (mistake.label().to_owned(), of(FOOLING, mistake));
    Bars {
        axis: Axis::new("reported time ÷ true time", Scale::Log).from(1.0),
        bars: Mistake::ALL.map(bar).into(),
        limits: Limits::These(vec![("true time".to_owned(), 1.0)]),
        ..Bars::default()
    }
    .draw(records, caption)
}

fn table_fooling(records: &Records) -> Result<TableData> {
    let caption = "The same job, measured wrongly and correctly. In the last row both contenders are the same \
                   function, and the values are how much longer the second one seems to take.";
    Grid::new(Mistake::ALL)
        .column("mistake", |mistake| mistake.label())
        .column("wrong", |mistake| of(WRONG, *mistake))
        .column("right", |mistake| of(RIGHT, *mistake))
        .column("wrong ÷ right", |mistake| of(FOOLING, *mistake))
        .table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chapter, testing};

    #[test]
    fn all_are_drawn_from_what_the_experiments_leave() {
        let mut made_up = testing::MadeUp::default();
        for threads in THREADS {
            made_up.add(peak("fma-f32", threads), 6e10).add(ridge(threads), 5.5);
            made_up.skip(peak("avx512-bf16", threads), "this CPU has no AVX512-BF16");
            made_up.skip(peak("amx-bf16", threads), "this CPU has no AMX");
            for traffic in Traffic::ALL {
                made_up.add(bandwidth(traffic, threads), 1e10);
            }
        }
        for mistake in Mistake::ALL {
            made_up.add(of(FOOLING, mistake), 0.25).add(of(WRONG, mistake), 1e-6);
            made_up.add(of(RIGHT, mistake), 4e-6);
        }
        let records = made_up.records(&chapter());
        testing::are_drawn(&figures(), &tables(), &records);
        let svg = draw_peaks(&records).unwrap().svg;
        assert!(svg.contains("this CPU has no AMX"), "{svg}");
        let caption = draw_fooling(&records).unwrap().caption;
        assert!(caption.contains("4 times too little"), "{caption}");
        for row in &table_peaks(&records).unwrap().rows[1..3] {
            assert_eq!(row[1..], ["–", "–"]);
        }
    }
}
