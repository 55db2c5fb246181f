//! The loop: forward, backward, update, and after each epoch the test.
//!
//! A run's result is a function of its settings, the data set and the device: on one machine's CPU it is the
//! same bit for bit, whatever the number of threads, and whether or not it was interrupted.

use crate::{
    Result,
    config::Settings,
    learning::{
        engine::{Engine, Resident},
        loss::Tally,
        metrics::Step,
        order::order,
        schedule::rate,
        sets::Sets,
        step::Batch,
        team::Team,
        trainer::Trainer,
    },
};
use std::{collections::VecDeque, ops::ControlFlow};

/// Images that are tested at once.
pub const TEST_BATCH: usize = 250;

/// What the loop has just done.
#[derive(Clone, Copy, Debug)]
pub enum Done {
    /// A step.
    Step(Step),
    /// A batch of the test after an epoch.
    Tested,
    /// A test that was broken off: the epoch is not over.
    Untested,
    /// An epoch and its test.
    Epoch,
}

/// Whether a run goes on.
pub type Flow = Result<ControlFlow<()>>;

/// Goes on with a run until it is over, or until `tell`, who hears of every step and epoch, wants a break.
///
/// # Errors
/// [`Diverged`](crate::Error::Diverged), the device's, the team's, and those of `tell`.
pub fn fit<D: Engine>(
    run: &mut Trainer<D>,
    sets: &Sets<D>,
    team: &dyn Team,
    mut tell: impl FnMut(&mut Trainer<D>, Done) -> Flow,
) -> Flow {
    let Settings { batch, epochs, seed, augment, .. } = run.at.settings;
    let count = sets.train.len();
    let steps = count.div_ceil(batch);
    run.start_clock();
    while !run.is_over() {
        let epoch = run.at.epoch + 1;
        // A function of seed and epoch: a resumed run finds its position in it again.
        let order = order(seed, epoch, count);
        let mut starts = (0..count).step_by(batch).skip(run.at.step);
        let mut begun = VecDeque::new();
        loop {
            // Who wants to look at a whole run waits until no step is begun ahead.
            let next = if run.waits && run.begun > 0 { None } else { starts.next() };
            if let Some(start) = next {
                let lr = rate(&run.at.settings, run.at.steps as usize + run.begun, epochs * steps);
                let part = team.part(batch.min(count - start));
                let range = start + part.start..start + part.end;
                let changed = augment.then_some((seed, epoch));
                let batch = Batch {
                    data: &sets.train,
                    epoch,
                    order: &order,
                    range: range.clone(),
                    changed,
                };
                begun.push_back((lr, range, run.stepper.begin(lr, &batch)?));
                run.begun = begun.len();
                if !run.waits && run.begun <= run.stepper.ahead() {
                    continue;
                }
            }
            let Some((lr, range, scores)) = begun.pop_front() else { break };
            run.begun = begun.len();
            let scores = scores.map_or_else(|| run.stepper.end(), Ok)?;
            let mut tally = Tally::default();
            tally.add(&scores, &sets.train.labels(&order[range]));
            let loss = run.count_step(lr, team.counted(tally))?;
            let step = Step { epoch, step: run.at.step, steps, loss, lr, tally: run.at.tally };
            if tell(run, Done::Step(step))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        // The clock stops when the device has done what it was given.
        sets.train.synchronize()?;
        run.lap_of_training();
        let mut tallies = Vec::new();
        for data in [Some(&sets.test), sets.held.as_ref()].into_iter().flatten() {
            let tally = test(run, data, team, &mut tell)?;
            if tally.seen < data.len() as u64 {
                return tell(run, Done::Untested);
            }
            tallies.push(tally);
        }
        run.count_epoch(tallies[0], tallies.get(1).copied())?;
        if tell(run, Done::Epoch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Loss and correct predictions on images that the model was not trained on; on fewer of them if somebody wants a break.
fn test<D: Engine>(
    run: &mut Trainer<D>,
    data: &Resident<D>,
    team: &dyn Team,
    tell: &mut impl FnMut(&mut Trainer<D>, Done) -> Flow,
) -> Result<Tally> {
    // ANCHOR: test
    let mut tally = Tally::default();
    // All of the images, unless others take a part of them.
    let mine: Vec<usize> = team.part(data.len()).collect();
    for index in mine.chunks(TEST_BATCH) {
        // Without a tape there is no dropout and no gradient.
        let scores = run.stepper.scores(data.images(index)?)?;
        tally.add(&scores, &data.labels(index));
        if tell(run, Done::Tested)?.is_break() {
            break;
        }
    }
    team.sum(tally)
    // ANCHOR_END: test
}
