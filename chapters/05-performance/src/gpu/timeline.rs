//! When each kernel of a step runs on a device, and when the CPU asks for it.

use cpu_gpu::{
    Error, Result,
    gpu::trace::{Span, Traced},
};
use lab::{Samples, TableData, Unit};

/// A step on a device, call by call.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// What the device was given, in its order: in the step of median length among those that were recorded.
    pub spans: Vec<Span>,
    /// Seconds of each step that was recorded, from its first call to the end of its last work.
    pub steps: Samples,
}

/// Steps before the first that counts: they meet cold caches, and code that was never loaded.
const WARM_UP: usize = 3;

/// Seconds of a span on the device.
pub fn seconds(span: &Span) -> f64 {
    span.ran[1] - span.ran[0]
}

/// Seconds from the first call to the end of the last work.
fn whole(spans: &[Span]) -> f64 {
    let ends = spans.iter().map(|span| span.ran[1].max(span.called[1]));
    ends.fold(0.0, f64::max)
}

impl Timeline {
    /// Records `steps` steps, after three that are not counted.
    ///
    /// # Errors
    /// A message for no step, or one that gives the device nothing to do; the device's.
    pub fn of(traced: &Traced, steps: usize, step: &mut dyn FnMut() -> Result<()>) -> Result<Self> {
        (0..WARM_UP).try_for_each(|_| step())?;
        let all: Vec<_> = (0..steps).map(|_| traced.record(step)).collect::<Result<_>>()?;
        let seconds: Vec<f64> = all.iter().map(|spans| whole(spans)).collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| seconds[*a].total_cmp(&seconds[*b]));
        let middle = order.get(order.len() / 2).map(|at| all[*at].clone()).unwrap_or_default();
        if middle.is_empty() {
            return Err(Error::message("there is nothing to show: no step gave the device work"));
        }
        Ok(Self { spans: middle, steps: Samples(seconds) })
    }

    /// Seconds of the step that is shown.
    pub fn seconds(&self) -> f64 {
        whole(&self.spans)
    }

    /// The fraction of the step in which the device was at work.
    pub fn busy(&self) -> f64 {
        self.spans.iter().map(seconds).sum::<f64>() / self.seconds()
    }

    /// The kinds of work, the one that takes longest first: name, times in the step, seconds of all of them.
    pub fn kinds(&self) -> Vec<(&str, usize, f64)> {
        let mut kinds: Vec<(&str, usize, f64)> = Vec::new();
        for span in &self.spans {
            match kinds.iter_mut().find(|(name, ..)| *name == span.name) {
                Some((_, times, sum)) => (*times, *sum) = (*times + 1, *sum + seconds(span)),
                None => kinds.push((&span.name, 1, seconds(span))),
            }
        }
        kinds.sort_by(|a, b| b.2.total_cmp(&a.2));
        kinds
    }

    /// A table of the kinds of work.
    pub fn table(&self, what: &str) -> TableData {
        let whole = self.seconds();
        let share = |seconds: f64| format!("{:.1}%", 100.0 * seconds / whole);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (name, times, seconds) in self.kinds() {
            let row = [name.into(), times.to_string(), Unit::Seconds.format(seconds)];
            rows.push(row.into_iter().chain([share(seconds)]).collect());
        }
        let idle = (1.0 - self.busy()).max(0.0);
        let none = ["nothing".into(), String::new(), Unit::Seconds.format(idle * whole)];
        rows.push(none.into_iter().chain([share(idle * whole)]).collect());
        TableData {
            caption: format!("One step of {what}: {}.", Unit::Seconds.format(whole)),
            head: ["on the device", "times", "time", "of the step"].map(str::to_owned).to_vec(),
            rows,
        }
    }
}
