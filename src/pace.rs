//! How long the rest takes, as an estimate.

use std::time::Instant;

/// What each part took of a minute at the quick budget, in seconds: a run on two busy cores, scaled. What counts is how
/// the parts compare: the machine's own pace scales them as soon as it is known.
const SECONDS: [(&str, f64); 12] = [
    ("lab", 2.0),
    ("matmul", 8.0),
    ("cpu_gpu", 2.0),
    ("backprop", 3.0),
    ("training", 1.0),
    ("performance", 11.0),
    ("mixed_precision", 1.0),
    ("multi_gpu", 23.0),
    ("hardware", 0.1),
    ("language_model", 3.0),
    (TRAINING, 9.0),
    (BOOK, 1.0),
];

/// The part that trains.
pub const TRAINING: &str = "the training";

/// The part that builds the book.
pub const BOOK: &str = "the book";

/// Work in parts of known weight.
pub struct Pace {
    began: Instant,
    done: f64,
    left: Vec<&'static str>,
}

impl Pace {
    /// Work that begins now. Parts are names of chapters, [`TRAINING`] and [`BOOK`].
    pub fn of(parts: Vec<&'static str>) -> Self {
        Self { began: Instant::now(), done: 0.0, left: parts }
    }

    /// A part is done.
    pub fn done(&mut self, part: &str) {
        if let Some(at) = self.left.iter().position(|left| *left == part) {
            self.done += weight(self.left.remove(at));
        }
    }

    /// `5 s so far, about 40 s to go`.
    pub fn told(&self) -> String {
        let gone = self.began.elapsed().as_secs_f64();
        format!("{gone:.0} s so far, {} to go", about(self.left_after(gone)))
    }

    /// Seconds that are left when so many have gone.
    fn left_after(&self, gone: f64) -> f64 {
        let left: f64 = self.left.iter().copied().map(weight).sum();
        // A second shows little of a machine's pace.
        let pace = if self.done > 1.0 { gone / self.done } else { 1.0 };
        left * pace
    }
}

fn weight(part: &str) -> f64 {
    SECONDS.iter().find(|(name, _)| *name == part).map_or(1.0, |(_, seconds)| *seconds)
}

/// Seconds as rough as they are known.
fn about(seconds: f64) -> String {
    match seconds {
        ..7.5 => "a few seconds".to_owned(),
        ..95.0 => format!("about {:.0} s", 10.0 * (seconds / 10.0).round().max(1.0)),
        _ => format!("about {:.0} minutes", (seconds / 60.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chapter_has_its_weight() {
        for chapter in crate::chapters::all() {
            assert!(SECONDS.iter().any(|(name, _)| *name == chapter.name), "{}", chapter.name);
        }
    }

    #[test]
    fn the_rest_goes_at_the_pace_of_what_is_done() {
        let mut pace = Pace::of(vec!["matmul", TRAINING]);
        let all = weight("matmul") + weight(TRAINING);
        assert!((pace.left_after(0.0) - all).abs() < 1e-9);
        pace.done("matmul");
        let twice_as_long = 2.0 * weight("matmul");
        assert!((pace.left_after(twice_as_long) - 2.0 * weight(TRAINING)).abs() < 1e-9);
        pace.done(TRAINING);
        assert!(pace.left_after(60.0).abs() < 1e-9);
        let said: Vec<String> = [1.0, 38.0, 61.0, 150.0].into_iter().map(about).collect();
        assert_eq!(said, ["a few seconds", "about 40 s", "about 60 s", "about 3 minutes"]);
    }
}
