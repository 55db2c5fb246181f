//! The rungs of attention, in turns: time and memory by the length of the context.

use crate::attention::{causal::Head, ladder::Rung};
use lab::{Budget, Experiment, Race, Recorder, Result, random::numbers, record::ParamList};
use std::hint::black_box;

lab::keys! {
    /// Seconds of forward and backward of one head, on one thread.
    pub SECONDS: measured "language_model.attention", Seconds, ["rung", "tokens"];
    /// Over the tiles' time.
    pub RATIO: measured "language_model.attention.ratio", Ratio, ["rung", "tokens"];
    /// Bytes that a rung reserves beside queries, keys, values and results.
    pub BYTES: counted "language_model.attention.bytes", Bytes, ["rung", "tokens"];
}

/// Values of a head: those of the chapter's models.
pub const HEAD: usize = 32;
/// Lengths of the context.
pub const TOKENS: [usize; 6] = [128, 256, 512, 1024, 2048, 4096];

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick SECONDS.name => &[SECONDS, RATIO, BYTES], run,
            "forward and backward of one head of attention by each rung, and the memory that it takes";
    }
}

fn run(r: &mut Recorder) -> Result<()> {
    let most = if r.budget == Budget::Full { 4096 } else { 1024 };
    for tokens in TOKENS {
        let list: ParamList = &[("tokens", &tokens)];
        if tokens > most {
            r.skip_all(list, "the quick budget stops at 1,024 tokens");
            continue;
        }
        r.note_at(SECONDS.at(list));
        let of = [1, 2, 3, 4].map(|seed| numbers(tokens * HEAD, seed));
        let [q, k, v, dout] = &of;
        let head = Head { q, k, v, size: HEAD };
        let mut race = Race::new();
        for rung in Rung::ALL {
            let mut attention = rung.start();
            let [mut out, mut dq, mut dk, mut dv] = [(); 4].map(|()| vec![0.0; tokens * HEAD]);
            race.add(rung.name(), move || {
                attention.forward(&mut out, head)?;
                attention.backward([&mut dq, &mut dk, &mut dv], (dout, &out), head)?;
                black_box((&dq, &dk, &dv));
                Ok(())
            });
        }
        let results = race.run(r.budget.plan())?;
        for rung in Rung::ALL {
            let name = rung.name();
            r.record(SECONDS.at(list).with("rung", name), results.samples(name)?);
            r.record(RATIO.at(list).with("rung", name), results.ratio(name, Rung::Tiled.name())?);
            r.one(BYTES.at(list).with("rung", name), rung.bytes(tokens, HEAD) as f64);
        }
    }
    Ok(())
}
