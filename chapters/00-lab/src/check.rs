//! What the exercises' tests hold answers against. Whoever is wrong reads of what, what was found, and what is right.

/// What the cases are drawn from.
pub use crate::random::{SplitMix64, numbers};

use crate::{Result, Unit, race::Results};
use std::{
    fmt::{Debug, Display},
    slice,
};

/// One number, or a row of them.
pub trait Numbers {
    /// In which format.
    type Number: Copy + Debug + Into<f64>;

    /// All of them.
    fn numbers(&self) -> &[Self::Number];
}

impl Numbers for f32 {
    type Number = Self;

    fn numbers(&self) -> &[Self] {
        slice::from_ref(self)
    }
}

impl Numbers for f64 {
    type Number = Self;

    fn numbers(&self) -> &[Self] {
        slice::from_ref(self)
    }
}

impl<T: Copy + Debug + Into<f64>> Numbers for [T] {
    type Number = T;

    fn numbers(&self) -> &[T] {
        self
    }
}

impl<T: Copy + Debug + Into<f64>, const N: usize> Numbers for [T; N] {
    type Number = T;

    fn numbers(&self) -> &[T] {
        self
    }
}

impl<T: Copy + Debug + Into<f64>> Numbers for Vec<T> {
    type Number = T;

    fn numbers(&self) -> &[T] {
        self
    }
}

impl<N: Numbers + ?Sized> Numbers for &N {
    type Number = N::Number;

    fn numbers(&self) -> &[N::Number] {
        (*self).numbers()
    }
}

/// Each of the first with each of the second: the cases of a test.
#[allow(clippy::needless_pass_by_value, reason = "two arrays or ranges, alike")]
pub fn pairs<A: Clone, B>(
    first: impl IntoIterator<Item = A>,
    second: impl IntoIterator<Item = B> + Clone,
) -> Vec<(A, B)> {
    let with = |a: A| second.clone().into_iter().map(move |b| (a.clone(), b));
    first.into_iter().flat_map(with).collect()
}

/// Each number is at most `within` away from the wanted one.
///
/// # Panics
/// If one is not: with its index, where there are several.
#[track_caller]
pub fn near(found: impl Numbers, wanted: impl Numbers, within: f64, what: impl Display) {
    hold(&found, &wanted, None, &what, |_| within);
}

/// As [`near`] for a matrix row by row.
///
/// # Panics
/// If a number is too far off: with its row and column.
#[track_caller]
pub fn near_rows(
    found: impl Numbers,
    wanted: impl Numbers,
    columns: usize,
    within: f64,
    what: impl Display,
) {
    hold(&found, &wanted, Some(columns), &what, |_| within);
}

/// Each number is off by at most this fraction of the wanted one.
///
/// # Panics
/// As [`near`].
#[track_caller]
pub fn close(found: impl Numbers, wanted: impl Numbers, fraction: f64, what: impl Display) {
    hold(&found, &wanted, None, &what, |wanted| fraction * wanted.abs());
}

/// Each number is off by at most this fraction of the wanted one, or of 1 where that is less.
///
/// # Panics
/// As [`near`].
#[track_caller]
pub fn about(found: impl Numbers, wanted: impl Numbers, fraction: f64, what: impl Display) {
    hold(&found, &wanted, None, &what, |wanted| fraction * wanted.abs().max(1.0));
}

/// Each number has the bits of the wanted one.
///
/// # Panics
/// As [`near`].
#[track_caller]
pub fn same_bits(found: impl Numbers, wanted: impl Numbers, what: impl Display) {
    hold(&found, &wanted, None, &what, |_| f64::NAN);
}

/// Whether a number is this far from the wanted one at most. It always is if it has the same bits, and only then where the
/// wanted one is not finite, which has no distance from anything, or the distance is not a number.
fn is_within(found: f64, wanted: f64, distance: f64) -> bool {
    let near = wanted.is_finite() && (found - wanted).abs() <= distance;
    near || found.to_bits() == wanted.to_bits()
}

#[track_caller]
fn hold(
    found: &impl Numbers,
    wanted: &impl Numbers,
    columns: Option<usize>,
    what: &dyn Display,
    within: impl Fn(f64) -> f64,
) {
    let (found, wanted) = (found.numbers(), wanted.numbers());
    assert_eq!(found.len(), wanted.len(), "{what}: how many numbers there are");
    for (at, (f, w)) in found.iter().zip(wanted).enumerate() {
        let (number, right) = ((*f).into(), (*w).into());
        if is_within(number, right, within(right)) {
            continue;
        }
        let which = match columns {
            Some(columns) => format!("row {}, column {} is ", at / columns, at % columns),
            None if found.len() > 1 => format!("number {at} is "),
            None => String::new(),
        };
        panic!("{what}: {which}{f:?}, and not {w:?}");
    }
}

/// In all of these cases what was found, which comes first, is what is right.
///
/// # Panics
/// If it is not: with all cases that are wrong.
#[track_caller]
pub fn all<L: Display, T: Debug + PartialEq>(cases: impl IntoIterator<Item = (L, T, T)>) {
    none(cases.into_iter().filter(|(_, found, wanted)| found != wanted));
}

/// In all of these cases the number that was found is at most 10⁻⁹ away from the right one.
///
/// # Panics
/// As [`all`].
#[track_caller]
pub fn all_near<L: Display>(cases: impl IntoIterator<Item = (L, f64, f64)>) {
    none(cases.into_iter().filter(|(_, found, wanted)| !is_within(*found, *wanted, 1e-9)));
}

#[track_caller]
fn none<L: Display, T: Debug>(wrong: impl Iterator<Item = (L, T, T)>) {
    let said = wrong.map(|(law, found, wanted)| format!("{law}: {found:?}, and not {wanted:?}"));
    let said: Vec<String> = said.collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
}

/// What a call gives that must not fail.
///
/// # Panics
/// If it did: with its error.
#[track_caller]
pub fn done<T, E: Display>(result: std::result::Result<T, E>, what: impl Display) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error}"),
    }
}

/// "yours" over another contender of a race as text: the ratio, how far it spreads, and both times.
///
/// # Errors
/// As [`Results::of`].
pub fn yours_over(results: &Results, ours: &str, more: &str) -> Result<String> {
    let time =
        |name| -> Result<String> { Ok(Unit::Seconds.format(results.samples(name)?.median())) };
    let (ratio, yours, theirs) = (results.ratio(ours, "yours")?, time("yours")?, time(ours)?);
    let (low, high) = ratio.spread();
    Ok(format!("{:.2} ({low:.2} to {high:.2}; yours {yours}, ours {theirs}{more})", ratio.median()))
}

/// With what [`lacking`] begins.
pub const LACKING: &str = "this can't be judged here: ";

/// What an exercise's test says where the machine lacks what it needs, so that no answer is right or wrong.
///
/// # Panics
/// Always, with the reason.
#[track_caller]
pub fn lacking(why: impl Display) -> ! {
    panic!("{LACKING}{why}")
}

/// What must be there.
///
/// # Panics
/// If there is nothing: with these words.
#[track_caller]
pub fn some<T>(found: Option<T>, what: impl Display) -> T {
    match found {
        Some(found) => found,
        None => panic!("{what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{UnwindSafe, catch_unwind};

    /// What a check says to a wrong answer.
    fn said(check: impl FnOnce() + UnwindSafe) -> String {
        let why = catch_unwind(check).expect_err("the answer is wrong");
        *why.downcast::<String>().expect("a message")
    }

    #[test]
    fn right_numbers_pass_and_the_first_wrong_one_is_named() {
        near([1.0_f32, 2.0], vec![1.0, 2.1], 0.11, "a row");
        close(1000.0, 1001_f32, 1e-3, "a number");
        about([0.001, 1000.0], [0.0, 1001.0], 1e-3, "both");
        same_bits([f32::NAN, -0.0], [f64::NAN, -0.0], "the same");
        let row = [1.0_f32, 0.1, 9.0];
        assert_eq!(
            said(move || near(row, [1.0, 7.0, 8.0], 0.5, "a row")),
            "a row: number 1 is 0.1, and not 7.0"
        );
        let rows = said(move || near_rows(row, [1.0, 0.1, 8.0], 2, 0.5, "a matrix"));
        assert_eq!(rows, "a matrix: row 1, column 0 is 9.0, and not 8.0");
        assert_eq!(said(|| close(1.0, 2.0, 0.1, "the sum")), "the sum: 1.0, and not 2.0");
        assert!(said(|| same_bits(0.0, -0.0, "a sign")).contains("0.0, and not -0.0"));
        assert!(said(|| near(f64::NAN, 0.0, 1e9, "NaN")).contains("NaN, and not 0.0"));
        close(f64::INFINITY, f64::INFINITY, 1.0, "no end");
        assert!(said(|| close(1.0, f64::INFINITY, 1.0, "no end")).contains("1.0, and not inf"));
        assert!(said(|| near([1.0], [1.0; 2], 1.0, "short")).contains("short: how many numbers"));
    }

    #[test]
    fn pairs_are_those_of_two_loops() {
        assert_eq!(pairs(0..2, [5, 7]), [(0, 5), (0, 7), (1, 5), (1, 7)]);
        assert_eq!(pairs(0..0, [1]), []);
    }

    #[test]
    fn all_cases_that_are_wrong_are_told() {
        let wrong = "two: 4, and not 5\nthree: 6, and not 7";
        assert_eq!(said(|| all([("one", 2, 2), ("two", 4, 5), ("three", 6, 7)])), wrong);
        all_near([("near", 1.0, 1.0 + 1e-10)]);
        assert!(said(|| all_near([("NaN", f64::NAN, 1.0)])).contains("NaN: NaN, and not 1.0"));
        assert!(said(|| all_near([("NaN", 1.0, f64::NAN)])).contains("NaN: 1.0, and not NaN"));
    }

    #[test]
    fn a_race_is_told_in_a_line() -> Result<()> {
        let mut race = crate::Race::new();
        race.turn("ours", |turn| Ok([1.0, 2.0][turn]));
        race.turn("yours", |_| Ok(0.5));
        let told = yours_over(&race.rounds(2)?, "ours", ", alone")?;
        assert_eq!(told, "3.00 (2.50 to 3.50; yours 500 ms, ours 1.50 s, alone)");
        Ok(())
    }

    #[test]
    fn what_fails_says_why() {
        assert_eq!(done(Ok::<_, String>(3), "three"), 3);
        assert_eq!(said(|| done(Err("too late"), "the run")), "the run: too late");
        assert_eq!(some(Some(3), "three"), 3);
        assert_eq!(said(|| some(None, "there are tokens")), "there are tokens");
    }
}
