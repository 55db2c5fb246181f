//! Keys: each is declared once, with its unit, its kind and the names of its parameters. What an experiment declares,
//! what it records or leaves out, and what a figure looks up follow from the declaration.
//!
//! ```
//! use lab::{Experiment, Key, Samples, Unit};
//!
//! pub const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["n", "who"]);
//!
//! let experiment = Experiment {
//!     key: RATE.name,
//!     shows: "how keys are used",
//!     values: &[RATE],
//!     quick: true,
//!     run: |recorder| {
//!         let n = 512;
//!         recorder.record(RATE.at(&[("n", &n), ("who", &"ours")]), Samples::one(1e9));
//!         recorder.skip_at(RATE.at(&[("n", &n), ("who", &"theirs")]), "it is not installed");
//!         Ok(())
//!     },
//! };
//! let run = lab::testing::run(&experiment);
//! assert_eq!(run.values[0].text(), "1.00 GFLOP/s");
//! ```

use crate::{
    Records, Result, Samples, Unit,
    record::{Limit, ParamList, Params, Skipped, Value, name},
};
use std::{
    borrow::Borrow,
    fmt::{self, Display},
};

/// How the numbers of a key come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By a clock or a meter, on the machine that the record names.
    Measured,
    /// Exactly, from what a program does or holds.
    Counted,
    /// By a model that runs step by step, such as a cache's.
    Simulated,
    /// By a formula.
    Calculated,
    /// By a source that is named.
    Published(&'static str),
}

impl Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Measured => f.write_str("measured"),
            Self::Counted => f.write_str("counted"),
            Self::Simulated => f.write_str("simulated"),
            Self::Calculated => f.write_str("calculated"),
            Self::Published(by) => write!(f, "published by {by}"),
        }
    }
}

/// Names of parameters.
type Names = &'static [&'static str];

/// A key of records, declared once, as a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The experiment's own key or one below it: `matmul.ladder.speedup`.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// How they come about.
    pub kind: Kind,
    /// The names of its parameters. A value may lack some.
    pub params: Names,
}

/// Keys as constants, a line each: how the values came about, the name, the unit, and the parameters.
#[macro_export]
macro_rules! keys {
    ($($(#[$meta:meta])* $vis:vis $Key:ident: $kind:ident $name:literal, $unit:ident, [$($param:literal),*];)*) => {
        $($(#[$meta])* $vis const $Key: $crate::Key =
            $crate::Key::$kind($name, $crate::Unit::$unit, &[$($param),*]);)*
    };
}

impl Key {
    /// A key of any kind.
    pub const fn new(kind: Kind, name: &'static str, unit: Unit, params: Names) -> Self {
        Self { name, unit, kind, params }
    }

    /// A key of measured values.
    pub const fn measured(name: &'static str, unit: Unit, params: Names) -> Self {
        Self::new(Kind::Measured, name, unit, params)
    }

    /// A key of counted values.
    pub const fn counted(name: &'static str, unit: Unit, params: Names) -> Self {
        Self::new(Kind::Counted, name, unit, params)
    }

    /// A key of simulated values.
    pub const fn simulated(name: &'static str, unit: Unit, params: Names) -> Self {
        Self::new(Kind::Simulated, name, unit, params)
    }

    /// A key of calculated values.
    pub const fn calculated(name: &'static str, unit: Unit, params: Names) -> Self {
        Self::new(Kind::Calculated, name, unit, params)
    }

    /// The quantity with these parameters; for a lookup, each quantity whose parameters include them.
    ///
    /// # Panics
    /// If the key does not declare one of the parameters: a bug in the program.
    pub fn at(self, list: ParamList) -> Quantity {
        let start = Quantity { key: self, params: Params::new(), limit: None };
        list.iter().fold(start, |quantity, (name, value)| quantity.with(name, value))
    }

    /// The quantity with those parameters of another value that this key also has: what was recorded next to it.
    pub fn beside(self, value: &Value) -> Quantity {
        let shared = value.params.iter().filter(|(name, _)| self.params.contains(&name.as_str()));
        shared.fold(self.at(&[]), |quantity, (name, value)| quantity.with(name, value))
    }
}

/// A key with parameters: what is recorded, left out or looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    key: Key,
    params: Params,
    limit: Option<Limit>,
}

impl Quantity {
    /// The same with one parameter more.
    ///
    /// # Panics
    /// As [`Key::at`].
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        assert!(self.key.params.contains(&name), "{} has no parameter {name}", self.key.name);
        self.params.insert(name.to_owned(), value.to_string());
        self
    }

    /// The same, compared with a limit in the key's unit, if there is one.
    #[must_use]
    pub fn against(self, limit: impl Into<Option<Limit>>) -> Self {
        Self { limit: limit.into(), ..self }
    }

    /// The same in another unit than the key's: for the odd one among its values.
    #[must_use]
    pub fn in_unit(self, unit: Unit) -> Self {
        Self { key: Key { unit, ..self.key }, ..self }
    }

    /// The key that was declared.
    pub fn key(&self) -> Key {
        self.key
    }

    /// The value with these samples.
    pub fn value(self, samples: Samples) -> Value {
        let Self { key, params, limit } = self;
        Value { params, limit, ..Value::new(key.name, &[], key.unit, samples) }
    }

    /// The same left out, and why.
    pub fn skipped(self, why: impl Into<String>) -> Skipped {
        Skipped { key: self.key.name.to_owned(), params: self.params, why: why.into() }
    }
}

/// `matmul.ladder n=1024`, as a page names it.
impl Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&name(self.key.name, &self.params))
    }
}

impl Records {
    /// The one value of this quantity.
    ///
    /// # Errors
    /// As [`Records::find`].
    pub fn get(&self, quantity: impl Borrow<Quantity>) -> Result<&Value> {
        let Quantity { key, params, .. } = quantity.borrow();
        self.find(key.name, params)
    }

    /// The median of this quantity as text.
    ///
    /// # Errors
    /// As [`Records::find`].
    pub fn text(&self, quantity: impl Borrow<Quantity>) -> Result<String> {
        self.get(quantity).map(Value::text)
    }

    /// All values of this quantity, whatever their other parameters, in the order of their measuring.
    ///
    /// # Errors
    /// There is at least one, or the error that says why not: as [`Records::find`].
    pub fn every(&self, quantity: impl Borrow<Quantity>) -> Result<Vec<&Value>> {
        let quantity = quantity.borrow();
        let Quantity { key, params, .. } = quantity;
        let found = self.all(key.name, params);
        if found.is_empty() {
            self.get(quantity)?;
        }
        Ok(found)
    }

    /// All values of this quantity over one parameter that is a number, in its order: points of a line.
    ///
    /// # Errors
    /// As [`Records::every`].
    pub fn over(
        &self,
        parameter: &str,
        quantity: impl Borrow<Quantity>,
    ) -> Result<Vec<(f64, &Value)>> {
        let found = self.every(quantity)?.into_iter();
        let mut points: Vec<(f64, &Value)> =
            found.filter_map(|value| Some((value.number(parameter)?, value))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(points)
    }
}

impl Value {
    /// A parameter as it was recorded.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str)
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.param(name)?.parse().ok()
    }
}
