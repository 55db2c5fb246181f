//! A race: contenders by name that take turns, so that a change of the clock or a neighbour's load meets all of them
//! alike, and each ratio is one of neighbours in time.
//!
//! ```
//! use lab::{Plan, Race};
//! use std::hint::black_box;
//!
//! let numbers = vec![1.5_f32; 1 << 16];
//! let mut race = Race::new();
//! race.add("forward", || {
//!     black_box(numbers.iter().sum::<f32>());
//!     Ok(())
//! });
//! race.add("backward", || {
//!     black_box(numbers.iter().rev().sum::<f32>());
//!     Ok(())
//! });
//! race.skip("on a GPU", "this machine has none");
//! let results = race.run(Plan::QUICK)?;
//! let rate = results.rate("forward", numbers.len() as f64)?; // additions a second
//! let gain = results.ratio("backward", "forward")?; // round by round
//! assert_eq!(rate.0.len(), gain.0.len());
//! assert!(results.samples("on a GPU").is_err());
//! # Ok::<(), lab::Error>(())
//! ```

use crate::{Error, Plan, Result, Samples};
use std::time::{Duration, Instant};

/// Contenders before their first turn. A turn yields a `T`: the seconds that it took, or more.
pub struct Race<'w, T = f64> {
    contenders: Vec<Contender<'w, T>>,
    skipped: Vec<(String, String)>,
    tell: Box<Tell<'w>>,
}

/// What is told before a turn: the number of the round, and whose turn it is.
type Tell<'w> = dyn FnMut(usize, &str) + 'w;

struct Contender<'w, T> {
    name: String,
    /// Given how often it had its turn before.
    work: Box<dyn FnMut(usize) -> Result<T> + 'w>,
    /// Whether the race goes on without it if its first turn fails.
    may_fail: bool,
    turns: usize,
    results: Vec<T>,
}

impl<T> Default for Race<'_, T> {
    fn default() -> Self {
        Self { contenders: Vec::new(), skipped: Vec::new(), tell: Box::new(|_, _| {}) }
    }
}

impl<'w> Race<'w> {
    /// A race without contenders, of seconds. One whose turns yield something else begins with [`Race::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// A contender whose calls are timed.
    pub fn add(&mut self, name: impl Into<String>, mut work: impl FnMut() -> Result<()> + 'w) {
        self.turn(name, move |_| {
            let began = Instant::now();
            work()?;
            Ok(began.elapsed().as_secs_f64())
        });
    }

    /// Warms each contender up, then lets them take turns. The plan's time is for each contender.
    ///
    /// # Errors
    /// That of the first contender that fails.
    pub fn run(mut self, plan: Plan) -> Result<Results> {
        let mut at = 0;
        while at < self.contenders.len() {
            let start = Instant::now();
            let mut here = self.turn_of(at, 0)?.is_some();
            while here && start.elapsed() < plan.warm_up {
                here = self.turn_of(at, 0)?.is_some();
            }
            at += usize::from(here);
        }
        let limit = plan.time * self.contenders.len() as u32;
        let (mut spent, mut round) = (Duration::ZERO, 0);
        while round < plan.min_samples || (round < plan.max_samples && spent < limit) {
            let began = Instant::now();
            self.round(round)?;
            spent += began.elapsed();
            round += 1;
        }
        Ok(self.results())
    }
}

impl<'w, T> Race<'w, T> {
    /// A contender that says itself what came of its turn, such as seconds by a device's clock. It is given how often it
    /// had its turn before, warm-up included: a seed, or the number of an epoch.
    pub fn turn(&mut self, name: impl Into<String>, work: impl FnMut(usize) -> Result<T> + 'w) {
        self.enter(name.into(), Box::new(work), false);
    }

    /// Another program, as [`Race::turn`]. If it did not start, or its first turn fails, it is skipped for the
    /// reason that it gives, and the race goes on.
    pub fn peer<W: FnMut(usize) -> Result<T> + 'w>(
        &mut self,
        name: impl Into<String>,
        started: Result<W>,
    ) {
        match started {
            Ok(work) => self.enter(name.into(), Box::new(work), true),
            Err(why) => self.skip(name, why.to_string()),
        }
    }

    fn enter(
        &mut self,
        name: String,
        work: Box<dyn FnMut(usize) -> Result<T> + 'w>,
        may_fail: bool,
    ) {
        self.contenders.push(Contender { name, work, may_fail, turns: 0, results: Vec::new() });
    }

    /// A contender that can't run here, and why.
    pub fn skip(&mut self, name: impl Into<String>, why: impl Into<String>) {
        self.skipped.push((name.into(), why.into()));
    }

    /// Before each turn, `tell` is given the number of the round and the contender's name: it may
    /// [`note`](crate::Recorder::note_at) them.
    #[must_use]
    pub fn telling(self, tell: impl FnMut(usize, &str) + 'w) -> Self {
        Self { tell: Box::new(tell), ..self }
    }

    /// So many rounds without a warm-up: for turns that are long, such as whole trainings.
    ///
    /// # Errors
    /// That of the first contender that fails.
    pub fn rounds(mut self, rounds: usize) -> Result<Results<T>> {
        for round in 0..rounds {
            self.round(round)?;
        }
        Ok(self.results())
    }

    fn round(&mut self, round: usize) -> Result<()> {
        let mut at = 0;
        while at < self.contenders.len() {
            if let Some(result) = self.turn_of(at, round)? {
                self.contenders[at].results.push(result);
                at += 1;
            }
        }
        Ok(())
    }

    /// One turn of the contender with index `at`; nothing if it is not in the race any more.
    fn turn_of(&mut self, at: usize, round: usize) -> Result<Option<T>> {
        let contender = &mut self.contenders[at];
        (self.tell)(round, &contender.name);
        contender.turns += 1;
        match (contender.work)(contender.turns - 1) {
            Ok(result) => Ok(Some(result)),
            Err(why) if contender.may_fail && contender.turns == 1 => {
                let gone = self.contenders.remove(at);
                self.skip(gone.name, why.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn results(self) -> Results<T> {
        let ran = self.contenders.into_iter().map(|c| (c.name, c.results)).collect();
        Results { ran, skipped: self.skipped }
    }
}

/// What came of a race: a result of each round for each contender.
#[derive(Clone, Debug)]
pub struct Results<T = f64> {
    ran: Vec<(String, Vec<T>)>,
    skipped: Vec<(String, String)>,
}

impl<T> Results<T> {
    /// Those who ran, in the order in which they were added.
    pub fn ran(&self) -> impl Iterator<Item = &str> {
        self.ran.iter().map(|(name, _)| name.as_str())
    }

    /// Those who could not run, and why.
    pub fn skipped(&self) -> impl Iterator<Item = (&str, &str)> {
        self.skipped.iter().map(|(name, why)| (name.as_str(), why.as_str()))
    }

    /// A contender's results, round by round.
    ///
    /// # Errors
    /// [`Error::Skipped`] for one that could not run; [`Error::Key`] for one that was never added.
    pub fn of(&self, name: &str) -> Result<&[T]> {
        if let Some((_, results)) = self.ran.iter().find(|(other, _)| other == name) {
            return Ok(results);
        }
        match self.skipped.iter().find(|(other, _)| other == name) {
            Some((_, why)) => Err(Error::Skipped { what: name.to_owned(), why: why.clone() }),
            None => Err(Error::Key(format!("no contender of the race is named `{name}`"))),
        }
    }

    /// The same race with `f` of each result.
    #[must_use]
    pub fn map<U>(&self, f: impl Fn(&T) -> U) -> Results<U> {
        let ran = self.ran.iter().map(|(name, all)| (name.clone(), all.iter().map(&f).collect()));
        Results { ran: ran.collect(), skipped: self.skipped.clone() }
    }
}

impl Results {
    /// A contender's seconds, round by round.
    ///
    /// # Errors
    /// As [`Results::of`].
    pub fn samples(&self, name: &str) -> Result<Samples> {
        Ok(Samples(self.of(name)?.to_vec()))
    }

    /// A contender's rate, if it does `amount` in each turn.
    ///
    /// # Errors
    /// As [`Results::of`].
    pub fn rate(&self, name: &str, amount: f64) -> Result<Samples> {
        Ok(self.samples(name)?.map(|seconds| amount / seconds))
    }

    /// Round by round, the seconds of `one` over those of `other`: how many times as fast `other` is.
    ///
    /// # Errors
    /// As [`Results::of`].
    pub fn ratio(&self, one: &str, other: &str) -> Result<Samples> {
        Ok(self.samples(one)?.paired(&self.samples(other)?, |one, other| one / other))
    }

    /// Round by round, the seconds of the fastest of all others over those of `name`.
    ///
    /// # Errors
    /// As [`Results::of`]; [`Error::Skipped`] if no other ran.
    pub fn ratio_of_best_other(&self, name: &str) -> Result<Samples> {
        let ours = self.samples(name)?;
        let others = self.ran.iter().filter(|(other, _)| other != name);
        let best = others
            .map(|(_, seconds)| Samples(seconds.clone()))
            .reduce(|best, other| best.paired(&other, f64::min));
        let best = best.ok_or_else(|| Error::Skipped {
            what: format!("the best next to {name}"),
            why: "no other contender could run here".to_owned(),
        })?;
        Ok(best.paired(&ours, |best, ours| best / ours))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::RefCell, thread::sleep};

    #[test]
    fn contenders_are_warmed_up_and_take_turns() -> Result<()> {
        let order = RefCell::new(String::new());
        let said = RefCell::new(Vec::new());
        let mut race =
            Race::new().telling(|round, who| said.borrow_mut().push((round, who.to_owned())));
        race.add("a", || {
            order.borrow_mut().push('a');
            Ok(())
        });
        race.turn("b", |turns| {
            order.borrow_mut().push('b');
            Ok(turns as f64)
        });
        let results = race.run(Plan::within(Duration::ZERO, 3, 9))?;
        assert_eq!(*order.borrow(), "ab".repeat(4));
        assert_eq!(results.of("b")?, [1.0, 2.0, 3.0], "the warm-up was turn 0");
        assert_eq!(results.samples("a")?.0.len(), 3);
        assert_eq!(said.borrow().last(), Some(&(2, "b".to_owned())));
        assert!(results.ran().eq(["a", "b"]));
        assert!(Race::new().run(Plan::within(Duration::ZERO, 1, 2))?.ran().next().is_none());
        Ok(())
    }

    #[test]
    fn a_plan_gives_each_contender_its_time() -> Result<()> {
        let mut race = Race::new();
        for name in ["a", "b"] {
            race.add(name, || {
                sleep(Duration::from_millis(10));
                Ok(())
            });
        }
        let seconds = race.run(Plan::within(Duration::from_millis(30), 1, 1000))?.samples("a")?;
        assert!((1..=3).contains(&seconds.0.len()), "{seconds:?}");
        assert!(seconds.0.iter().all(|&s| s >= 0.01));
        Ok(())
    }

    #[test]
    fn rates_and_ratios_are_those_of_one_round() -> Result<()> {
        let mut race = Race::new();
        for (name, seconds) in [("ours", [1.0, 2.0]), ("x", [2.0, 8.0]), ("y", [3.0, 1.0])] {
            race.turn(name, move |turn| Ok(seconds[turn]));
        }
        let results = race.rounds(2)?;
        assert_eq!(results.rate("x", 16.0)?.0, [8.0, 2.0]);
        assert_eq!(results.ratio("x", "ours")?.0, [2.0, 4.0]);
        assert_eq!(results.ratio_of_best_other("ours")?.0, [2.0, 0.5]);
        Ok(())
    }

    #[test]
    fn a_contender_that_cannot_run_says_why_and_does_not_lose_the_race() -> Result<()> {
        let mut race = Race::default();
        race.turn("ours", |seed| Ok((seed, 0.98)));
        race.peer("silent", Ok(|_| Err(Error::message("No module named 'keras'"))));
        race.peer("absent", Err::<fn(usize) -> _, _>(Error::message("there is no Python")));
        race.skip("tiles", "this CPU has no AMX");
        let results = race.rounds(2)?;
        assert_eq!(results.of("ours")?, [(0, 0.98), (1, 0.98)]);
        let seeds = results.map(|(seed, _)| *seed as f64);
        assert_eq!(seeds.samples("ours")?.0, [0.0, 1.0]);
        for (name, reason) in [
            ("silent", "No module named 'keras'"),
            ("absent", "there is no Python"),
            ("tiles", "this CPU has no AMX"),
        ] {
            let Err(Error::Skipped { why, .. }) = seeds.ratio(name, "ours") else {
                panic!("{name} ran");
            };
            assert_eq!(why, reason);
        }
        assert!(matches!(seeds.ratio_of_best_other("ours"), Err(Error::Skipped { .. })));
        assert!(matches!(seeds.samples("nobody"), Err(Error::Key(_))));
        let names: Vec<&str> = seeds.skipped().map(|(name, _)| name).collect();
        assert_eq!(names, ["absent", "tiles", "silent"]);
        Ok(())
    }

    #[test]
    fn a_failure_ends_the_race_even_of_a_peer_that_has_run_before() {
        let fails = |from: usize| {
            move |turn| if turn < from { Ok(1.0) } else { Err(Error::message("out of memory")) }
        };
        let mut race = Race::new();
        race.turn("ours", fails(0));
        assert!(race.rounds(1).is_err());
        let mut race = Race::new();
        race.peer("theirs", Ok(fails(1)));
        assert_eq!(race.rounds(2).unwrap_err().to_string(), "out of memory");
    }
}
