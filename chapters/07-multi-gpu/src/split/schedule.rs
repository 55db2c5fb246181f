//! Who computes what when: the schedules of a pipeline as data.
//!
//! `GPipe` (Huang and others 2019): all micro-batches forward, then all backward. One forward, one backward (1F1B; Narayanan
//! and others 2019, "`PipeDream`", and 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using
//! Megatron-LM", section 2.2): as soon as a stage can go backward it does, so it keeps less.

use crate::{Error, Result};

lab::named! {
    /// In which order a stage does its work.
    pub enum Schedule("schedule") {
        /// All forward, then all backward.
        Gpipe = "gpipe",
        /// One forward, one backward.
        OneForwardOneBackward = "1f1b",
    }
}

/// Which way through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the images to the scores.
    Forward,
    /// Back.
    Backward,
}

/// One micro-batch through one stage, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Work {
    /// Which way.
    pub direction: Direction,
    /// Which micro-batch, from 0.
    pub micro: usize,
}

/// What stage `stage` of `stages` does with `micros` micro-batches, in order.
// ANCHOR: order
pub fn order(
    schedule: Schedule,
    stage: usize, // from 0
    stages: usize,
    micros: usize,
) -> Vec<Work> {
    let forward = |micro| Work { direction: Direction::Forward, micro };
    let backward = |micro| Work { direction: Direction::Backward, micro };
    // How many go forward before the first comes back.
    let ahead = match schedule {
        Schedule::Gpipe => micros,
        Schedule::OneForwardOneBackward => (stages - stage).min(micros),
    };
    let mut list: Vec<Work> = (0..ahead).map(forward).collect();
    for micro in 0..micros {
        list.push(backward(micro));
        if ahead + micro < micros {
            list.push(forward(ahead + micro));
        }
    }
    list
}
// ANCHOR_END: order

/// The most micro-batches that a stage keeps activations of at any time.
pub fn peak_kept(order: &[Work]) -> usize {
    let (mut kept, mut peak) = (0, 0);
    for work in order {
        match work.direction {
            Direction::Forward => kept += 1,
            Direction::Backward => kept -= 1,
        }
        peak = peak.max(kept);
    }
    peak
}

/// A piece of work with its time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Slot {
    /// The stage.
    pub stage: usize,
    /// What it does.
    pub work: Work,
    /// When it begins, in the unit of the durations.
    pub start: f64,
    /// When it ends.
    pub end: f64,
}

/// When each stage does what, if a stage takes `seconds[stage]` (forward, backward) for a micro-batch and messages take no
/// time: each piece of work begins when the stage is free and what it waits for is done.
///
/// # Errors
/// [`Error::Config`] if an order can't be worked off, because something waits for itself.
pub fn timeline(
    orders: &[Vec<Work>],
    seconds: &[(f64, f64)], // forward, backward
) -> Result<Vec<Slot>> {
    // ANCHOR: timeline
    let mut slots: Vec<Slot> = Vec::new();
    let mut next = vec![0; orders.len()]; // each stage's position in its order
    let mut free = vec![0.0; orders.len()];
    while (0..orders.len()).any(|stage| next[stage] < orders[stage].len()) {
        let before = slots.len();
        for (stage, order) in orders.iter().enumerate() {
            let Some(&work) = order.get(next[stage]) else { continue };
            let ready = ready(work, stage, orders.len(), &slots);
            let Some(start) = ready.map(|t| t.max(free[stage])) else { continue };
            let takes = match work.direction {
                Direction::Forward => seconds[stage].0,
                Direction::Backward => seconds[stage].1,
            };
            let end = start + takes;
            slots.push(Slot { stage, work, start, end });
            (next[stage], free[stage]) = (next[stage] + 1, end);
        }
        if slots.len() == before {
            return Err(stuck());
        }
    }
    // ANCHOR_END: timeline
    Ok(slots)
}

fn stuck() -> Error {
    Error::Config(
        "this schedule never ends: a stage waits for work that comes after its own; let each go forward before it goes back"
            .into(),
    )
}

/// When what `work` waits for is done: the stage before in the forward pass, the stage after in the backward pass, and
/// the forward pass itself at the end. `None` if it is not planned yet.
fn ready(work: Work, stage: usize, stages: usize, slots: &[Slot]) -> Option<f64> {
    let done = |stage, direction| {
        let wanted = (stage, Work { direction, ..work });
        slots.iter().find(|slot| (slot.stage, slot.work) == wanted).map(|slot| slot.end)
    };
    match work.direction {
        Direction::Forward if stage == 0 => Some(0.0),
        Direction::Forward => done(stage - 1, Direction::Forward),
        Direction::Backward if stage + 1 == stages => done(stage, Direction::Forward),
        Direction::Backward => {
            done(stage, Direction::Forward)?;
            done(stage + 1, Direction::Backward)
        }
    }
}

/// The plan in letters, one line a stage, if forward and backward take one unit of time each: `>1` is micro-batch 1
/// forward, `<1` backward, and dots are time spent waiting.
///
/// ```
/// use multi_gpu::split::schedule::{Schedule, in_letters};
/// assert_eq!(in_letters(Schedule::Gpipe, 2, 1), ">1 .. .. <1\n.. >1 <1 ..\n");
/// ```
pub fn in_letters(schedule: Schedule, stages: usize, micros: usize) -> String {
    let orders: Vec<_> = (0..stages).map(|stage| order(schedule, stage, stages, micros)).collect();
    let slots = timeline(&orders, &vec![(1.0, 1.0); stages]).unwrap_or_default();
    let units = if slots.is_empty() { 0 } else { 2 * (micros + stages - 1) };
    let mut lines = vec![vec!["..".to_owned(); units]; stages];
    for Slot { stage, work: Work { direction, micro }, start, .. } in slots {
        let arrow = if direction == Direction::Forward { '>' } else { '<' };
        lines[stage][start as usize] = format!("{arrow}{}", micro + 1);
    }
    lines.iter().map(|line| line.join(" ") + "\n").collect()
}

/// The fraction of its time in which each stage has nothing to do, from the first start to the last end of all.
pub fn idle(slots: &[Slot], stages: usize) -> Vec<f64> {
    let begin = slots.iter().map(|slot| slot.start).fold(f64::INFINITY, f64::min);
    let end = slots.iter().map(|slot| slot.end).fold(f64::NEG_INFINITY, f64::max);
    (0..stages)
        .map(|stage| {
            let mine = slots.iter().filter(|slot| slot.stage == stage);
            let busy: f64 = mine.map(|slot| slot.end - slot.start).sum();
            1.0 - busy / (end - begin)
        })
        .collect()
}

/// The fraction of its time that each of p equal stages is idle with m micro-batches: (p − 1)/(m + p − 1).
pub fn bubble(stages: usize, micros: usize) -> f64 {
    (stages - 1) as f64 / (micros + stages - 1) as f64
}
