//! The figure of what was measured.

use crate::measured::experiments::replicas::{JOBS, Job, RANKS_TRIED, REPLICAS, SPEEDUP};
use lab::{
    Drawing, Figure, Key, Records, Result,
    drawing::Lines,
    key::Quantity,
    plot::{Axis, LimitLine, Scale},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: REPLICAS.name, draw: draw_speedup }]
}

/// A job's displayed name: `mlp, batch 128`.
fn name(job: Job) -> String {
    format!("{}, batch {}", job.model, job.batch)
}

fn of(key: Key, job: Job, engine: &str) -> Quantity {
    key.at(&[("model", &job.model), ("batch", &job.batch), ("engine", &engine)])
}

fn draw_speedup(records: &Records) -> Result<Drawing> {
    let at = |job, p: usize| records.text(of(SPEEDUP, job, "threads").with("p", p));
    let most = RANKS_TRIED[RANKS_TRIED.len() - 1];
    let caption = format!(
        "Speed of p replicas, each a thread on its own core if there are enough, against one replica on one core, on {}. \
         The small network at batch {} reaches {} with two, the large one {}. {most} replicas share \
         the same cores.",
        records.machine.in_words(),
        JOBS[0].batch,
        at(JOBS[0], 2)?,
        at(JOBS[2], 2)?,
    );
    let mut plot = Lines {
        over: "p",
        x: Axis::new("replicas", Scale::Linear).ticks(RANKS_TRIED.map(|p| p as f64)),
        y: Axis::new("speed against one replica (\u{d7})", Scale::Linear),
        lines: JOBS.map(|job| (name(job), of(SPEEDUP, job, "threads"))).into(),
        ..Lines::default()
    }
    .plot(records)?;
    let cores = records.machine.cores as f64;
    let shared = RANKS_TRIED.map(|p| (p as f64, (p as f64).min(cores)));
    plot.limits.push(LimitLine { name: "cores".into(), points: shared.to_vec() });
    Ok(plot.drawing(caption))
}
