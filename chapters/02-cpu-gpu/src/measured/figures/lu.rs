//! LU decomposition: where the time goes, over the fraction of the operations as a curve.

use crate::{
    lu::{BLOCK, product_share},
    measured::experiments::lu::{PREDICTED, SHARE},
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result,
    drawing::Lines,
    key::Quantity,
    plot::{Axis, LimitLine, Scale},
};

/// The figures of this file.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "cpu_gpu.lu.share", draw: draw_share }]
}

/// A quantity on so many threads.
fn on(key: Key, n: usize, threads: &str) -> Quantity {
    key.at(&[("n", &n), ("threads", &threads)])
}

/// What each part of the decomposition takes.
///
/// # Errors
/// If a record is missing.
pub fn draw_share(records: &Records) -> Result<Drawing> {
    let sizes = records.over("n", SHARE.at(&[]))?;
    let [(first, _), .., (last, _)] = sizes[..] else {
        let what = SHARE.name.to_owned();
        return Err(Error::NotMeasured { what, chapter: "cpu_gpu".to_owned() });
    };
    let [first, last] = [first, last].map(|n| n as usize);
    let text =
        |n: usize, threads: &str| records.text(on(SHARE, n, threads).with("part", "product"));
    let caption = format!(
        "Fraction of the time that the blocked decomposition spends in its product, with panels of {BLOCK} columns on \
         {}: on one thread {} at n = {first} and {} at n = {last}, where {} of the operations are; on all threads \
         {} at n = {last}, because the rest gains less from threads.",
        records.machine.in_words(),
        text(first, "one")?,
        text(last, "one")?,
        records.text(PREDICTED.at(&[("n", &last)]))?,
        text(last, "all")?,
    );
    let lines = Lines {
        over: "n",
        x: Axis::new("n", Scale::Log),
        y: Axis::new("in the product (%)", Scale::Linear).range(0.0, 100.0),
        scale: |share| 100.0 * share,
        lines: [("one", "time, one thread"), ("all", "time, all threads")]
            .map(|(threads, name)| {
                (name.to_owned(), SHARE.at(&[("threads", &threads), ("part", &"product")]))
            })
            .into(),
        ..Lines::default()
    };
    let mut plot = lines.plot(records)?;
    // The prediction as a smooth line: steps of an eighth of an octave.
    let ratio = last as f64 / first as f64;
    let predicted = (0..=64).map(|i| {
        let n = first as f64 * ratio.powf(f64::from(i) / 64.0);
        (n, 100.0 * product_share(n.round() as usize, BLOCK))
    });
    plot.limits.push(LimitLine { name: "operations".to_owned(), points: predicted.collect() });
    Ok(plot.drawing(caption))
}
