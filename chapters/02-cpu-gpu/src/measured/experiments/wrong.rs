//! Which check finds which of the classic bugs.

use super::devices::{DEVICES, why_missing};
use crate::{
    gpu::{self, Kind},
    wrong::{Check, Mistake, examine},
};
use lab::{Experiment, Key, Recorder, Samples, Unit};

/// 1 where a check finds a bug and 0 where it passes, with what was found in a word or two.
pub const WRONG: Key = Key::counted("cpu_gpu.wrong", Unit::Count, &["mistake", "check", "found"]);

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    lab::experiments! {
        quick WRONG.name => &[WRONG], mistakes,
            "which check finds which of the classic bugs";
    }
}

fn mistakes(r: &mut Recorder) -> lab::Result<()> {
    let devices = gpu::devices();
    let cpu_first = devices.found.iter().min_by_key(|about| about.kind == Kind::Gpu);
    let gpu = cpu_first.and_then(|about| gpu::open(&about.id).ok());
    for check in Check::ALL {
        for mistake in Mistake::ALL {
            let what = WRONG.at(&[("mistake", &mistake.name()), ("check", &check.name())]);
            r.note_at(&what);
            if check.needs_device() && gpu.is_none() {
                r.skip_at(what, why_missing(&devices, DEVICES[0]));
                continue;
            }
            let found = examine(mistake, check, gpu.as_deref())?;
            let caught = Samples::one(if found.is_some() { 1.0 } else { 0.0 });
            r.record(what.with("found", found.as_deref().unwrap_or("passes")), caught);
        }
    }
    Ok(())
}
