//! The rungs of attention by the length of the context.

use crate::{
    attention::ladder::Rung,
    measured::experiments::attention::{BYTES, HEAD, RATIO, SECONDS, TOKENS},
};
use lab::{
    Drawing, Figure, Key, Records, Result,
    drawing::{Limits, Lines},
    key::Quantity,
    plot::{Axis, Scale},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "language_model.attention", draw: draw_seconds },
        Figure { key: "language_model.attention.bytes", draw: draw_bytes },
    ]
}

fn lines(key: Key) -> Vec<(String, Quantity)> {
    Rung::ALL.map(|rung| (rung.name().to_owned(), key.at(&[("rung", &rung.name())]))).into()
}

/// The longest context that was measured.
fn longest(records: &Records) -> Result<usize> {
    let all = records.over("tokens", SECONDS.at(&[("rung", &Rung::Tiled.name())]))?;
    Ok(all.last().map_or(TOKENS[0], |(tokens, _)| *tokens as usize))
}

fn draw_seconds(records: &Records) -> Result<Drawing> {
    let tokens = longest(records)?;
    let of =
        |key: Key, rung: Rung| records.text(key.at(&[("rung", &rung.name()), ("tokens", &tokens)]));
    let caption = format!(
        "Forward and backward of one head of {HEAD} values on {}. With {tokens} tokens the naive rung takes {} as long as \
         the tiles, the fused one {}.",
        records.machine.in_words(),
        of(RATIO, Rung::Naive)?,
        of(RATIO, Rung::Fused)?,
    );
    Lines {
        over: "tokens",
        x: Axis::new("tokens of context", Scale::Log),
        y: Axis::new("time (ms)", Scale::Log),
        scale: |seconds| 1e3 * seconds,
        lines: lines(SECONDS),
        limits: Limits::None,
    }
    .draw(records, caption)
}

fn draw_bytes(records: &Records) -> Result<Drawing> {
    let tokens = longest(records)?;
    let of = |rung: Rung| records.text(BYTES.at(&[("rung", &rung.name()), ("tokens", &tokens)]));
    let caption = format!(
        "Memory of one head, forward and backward: at {tokens} tokens {} for the naive rung and {} for the tiles.",
        of(Rung::Naive)?,
        of(Rung::Tiled)?,
    );
    Lines {
        over: "tokens",
        x: Axis::new("tokens of context", Scale::Log),
        y: Axis::new("memory (MiB)", Scale::Log),
        scale: |bytes| bytes / f64::from(1 << 20),
        lines: lines(BYTES),
        limits: Limits::None,
    }
    .draw(records, caption)
}
