//! All-reduces as figures and tables.

use crate::{
    comm::{algorithm::Algorithm, cost::AlphaBeta},
    measured::experiments::comm::{ALL_REDUCE, ALPHA, BETA},
};
use lab::{
    Drawing, Figure, Key, Records, Result, Samples, Table, TableData, Unit,
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
};

/// This part's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: ALL_REDUCE.name, draw: |records| draw(records, "threads") },
        Figure { key: "multi_gpu.all_reduce.mpi", draw: |records| draw(records, "mpi") },
    ]
}

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "multi_gpu.all_reduce.best", make: table_best }]
}

/// How many ranks the figures show.
const P: usize = 4;
/// The marks of their axis, in KiB.
const TICKS: [f64; 6] = [1.0 / 16.0, 1.0, 16.0, 256.0, 4096.0, 65536.0];
/// The ways that have a line of their own.
const SHOWN: [Algorithm; 3] = [Algorithm::Naive, Algorithm::Tree, Algorithm::Ring];

/// α and β of an engine's messages.
fn link(records: &Records, engine: &str) -> Result<AlphaBeta> {
    let of = |key: Key| {
        let found = records.get(key.at(&[("engine", &engine), ("from", &"message")]));
        found.map(|value| value.median)
    };
    Ok(AlphaBeta { alpha: of(ALPHA)?, beta: of(BETA)? })
}

fn of_way(engine: &str, way: &str) -> Quantity {
    ALL_REDUCE.at(&[("engine", &engine), ("way", &way), ("p", &P)])
}

/// Measured all-reduces of one way, by their bytes.
fn measured<'r>(records: &'r Records, engine: &str, way: &str) -> Result<Vec<(f64, &'r Value)>> {
    // If the engine was left out, its reason.
    let skipped = || records.every(ALL_REDUCE.at(&[("engine", &engine), ("p", &P)]));
    records.over("bytes", of_way(engine, way)).or_else(|error| skipped().and(Err(error)))
}

fn draw(records: &Records, engine: &str) -> Result<Drawing> {
    let link = link(records, engine)?;
    let (mut series, mut limits, mut off, mut words) = (vec![], vec![], vec![], vec![]);
    let library = (engine == "mpi").then_some("library");
    for way in SHOWN.map(Algorithm::name).into_iter().chain(library) {
        let all = measured(records, engine, way)?;
        let kib = |bytes: f64| bytes / 1024.0;
        let points: Vec<_> = all.iter().map(|(bytes, value)| (kib(*bytes), *value)).collect();
        let name = if way == "library" { "MPI's own" } else { way };
        // Three sizes give the slope in the alternative text.
        let shown = all.iter().filter(|(bytes, _)| [4.0, 65_536.0, 4_194_304.0].contains(bytes));
        let shown = shown.map(|(bytes, v)| format!("{} {}", Unit::Bytes.format(*bytes), v.text()));
        words.push(format!("{name}: {}", shown.collect::<Vec<_>>().join(", ")));
        series.push(Series::of(name, &points, |seconds| 1e3 * seconds));
        let Some(algorithm) = SHOWN.into_iter().find(|a| a.name() == way) else { continue };
        let predicted = |bytes: f64| algorithm.seconds(link, bytes, P);
        off.extend(all.iter().map(|(bytes, v)| (v.median / predicted(*bytes)).ln().abs()));
        let points = all.iter().map(|(bytes, _)| (kib(*bytes), 1e3 * predicted(*bytes)));
        limits.push(LimitLine { name: format!("{way}, predicted"), points: points.collect() });
    }
    let off = Samples(off);
    let ratio = |log: f64| Unit::Ratio.format(log.exp());
    let plot = LinePlot {
        x: Axis::new("buffer on each rank (KiB)", Scale::Log).ticks(TICKS),
        y: Axis::new("time of an all-reduce (ms)", Scale::Log),
        series,
        limits,
    };
    let caption = format!(
        "Half of the predictions are within {} of the measurement, and the worst is off by {}. All-reduce over {P} \
         ranks ({}), on {}. Dashed: predicted from α and β of single messages between two ranks.",
        ratio(off.median()),
        ratio(off.quantile(1.0)),
        if engine == "mpi" { "processes, MPI" } else { "threads" },
        records.machine.in_words(),
    );
    let alt = format!("Time of an all-reduce over its bytes. {}.", words.join("; "));
    Ok(Drawing { alt, ..plot.drawing(caption) })
}

fn table_best(records: &Records) -> Result<TableData> {
    let link = link(records, "threads")?;
    let all = SHOWN.map(|way| Ok((way, measured(records, "threads", way.name())?)));
    let all: Vec<_> = all.into_iter().collect::<Result<_>>()?;
    let (mut rows, mut right) = (vec![], 0);
    for (at, (bytes, _)) in all[0].1.iter().enumerate() {
        let at: Vec<_> =
            all.iter().filter_map(|(way, x)| Some((*way, x.get(at)?.1.median))).collect();
        let Some((best, _)) = at.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let guess = Algorithm::best(link, *bytes, P);
        right += usize::from(guess == *best);
        let mut row = vec![Unit::Bytes.format(*bytes)];
        row.extend(at.iter().map(|(_, seconds)| Unit::Seconds.format(*seconds)));
        row.extend([guess.name().to_owned(), best.name().to_owned()]);
        rows.push(row);
    }
    let head = ["bytes", "naive", "tree", "ring", "predicted best", "measured best"];
    Ok(TableData {
        caption: format!(
            "Four ranks that are threads: the prediction from α and β picks the fastest way for {right} of {} sizes.",
            rows.len()
        ),
        head: head.map(String::from).into(),
        rows,
    })
}
