//! Pictures and tables of what was measured.

use crate::measured::experiments::replicas::{FAILURES, JOBS, Job, RANKS_TRIED, REPLICAS, SIGNALS};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale},
    record::{ParamList, Value},
};
use training::measured::figures::studies::{line, some, words};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: REPLICAS, draw: draw_speedup }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: REPLICAS, make: table_replicas },
        Table { key: FAILURES, make: table_failures },
    ]
}

const SPEEDUP: &str = "multi_gpu.replicas.speedup";

/// A job for a person: `mlp, batch 128`.
fn name(job: Job) -> String {
    format!("{}, batch {}", job.model, job.batch)
}

fn find<'r>(
    records: &'r Records,
    key: &str,
    job: Job,
    engine: &str,
    p: usize,
) -> Result<&'r Value> {
    let list: ParamList =
        &[("model", &job.model), ("batch", &job.batch), ("engine", &engine), ("p", &p)];
    records.find(key, list)
}

fn draw_speedup(records: &Records) -> Result<Drawing> {
    let lines = JOBS.map(|job| {
        let list: ParamList =
            &[("model", &job.model), ("batch", &job.batch), ("engine", &"threads")];
        line(records, (SPEEDUP, list), "p", &name(job), |ratio| ratio)
    });
    let series = some(lines.into(), SPEEDUP)?;
    let most = RANKS_TRIED[RANKS_TRIED.len() - 1];
    let cores = records.machine.cores as f64;
    let shared = RANKS_TRIED.map(|p| (p as f64, (p as f64).min(cores)));
    let limits = vec![LimitLine { name: "cores".into(), points: shared.to_vec() }];
    let of = |job, p| find(records, SPEEDUP, job, "threads", p).map(Value::text);
    let caption = format!(
        "Speed of p replicas, each a thread on one core if there is one for it, against one replica on one core, on {}. \
         The small network at batch {} reaches {} with two, the large one {}. {most} replicas have no more than these \
         cores either.",
        records.machine.in_words(),
        JOBS[0].batch,
        of(JOBS[0], 2)?,
        of(JOBS[2], 2)?,
    );
    let alt = words(&series, Unit::Ratio);
    let plot = LinePlot {
        x: Axis::new("replicas", Scale::Linear).ticks(RANKS_TRIED.map(|p| p as f64)),
        y: Axis::new("speed against one replica (\u{d7})", Scale::Linear),
        series,
        limits,
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_replicas(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for job in JOBS {
        let sides = [("alone", 1)].into_iter();
        let sides = sides.chain(RANKS_TRIED.map(|p| ("threads", p)));
        let sides = sides.chain(RANKS_TRIED.map(|p| ("tcp", p)));
        let real = [("processes", 2), ("processes", 4), ("mpi", 2), ("mpi", 4)];
        for (engine, p) in sides.chain(real) {
            let cell = |key: &str| {
                find(records, key, job, engine, p).map_or("\u{2013}".into(), Value::text)
            };
            // What was not measured for this job has no row; what the machine lacks has none either.
            if find(records, REPLICAS, job, engine, p).is_err() {
                continue;
            }
            rows.push(vec![
                name(job),
                if engine == "alone" {
                    "one device, all cores".into()
                } else {
                    format!("{engine}, {p}")
                },
                cell(REPLICAS),
                cell("multi_gpu.replicas.step"),
                cell("multi_gpu.replicas.compute"),
                cell("multi_gpu.replicas.sum"),
            ]);
        }
    }
    find(records, REPLICAS, JOBS[0], "threads", 1)?;
    let head = ["job", "ranks", "speed", "a step", "forward and backward", "adding up and waiting"];
    Ok(TableData {
        caption: format!(
            "Training with replicas on {}. Each rank has one thread; with more ranks than cores they share them. The parts \
             of a step are rank 0's; the rest of it is the optimizer's. Step and parts are medians of their own, so that \
             a part can exceed the step.",
            records.machine.in_words()
        ),
        head: head.map(str::to_owned).into(),
        rows,
    })
}

fn table_failures(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (signal, times) in SIGNALS {
        let list: ParamList = &[("signal", &signal)];
        let value = records.find(FAILURES, list)?;
        let worst = records.find("multi_gpu.failures.worst", list)?;
        let what = if signal == "KILL" { "killed" } else { "stopped" };
        rows.push(vec![
            format!("{what} (SIG{signal})"),
            times.to_string(),
            value.text(),
            worst.text(),
        ]);
    }
    let head = ["one of four processes is", "times", "median", "worst"];
    Ok(TableData {
        caption: "Seconds from the signal, at a random moment, until the last of the other processes has ended with a \
                  sentence that names the rank."
            .into(),
        head: head.map(str::to_owned).into(),
        rows,
    })
}
