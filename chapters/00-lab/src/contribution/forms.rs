//! The forms that a key's values have on the machines that are known: units, names of parameters, and which parameters
//! are whole numbers. Figures rely on them.

use crate::{
    Records,
    record::{Params, Value},
};
use std::collections::{BTreeMap, BTreeSet};

/// The most GPUs and the most features of a machine, and the most parameters of a value.
pub(super) const MOST_PARTS: usize = 64;

/// The largest number of a parameter: far above every size, and exact as a float.
const LARGEST: u64 = 1 << 50;

/// What is known of each key.
pub(super) struct Forms<'r>(BTreeMap<&'r str, Form<'r>>);

#[derive(Default)]
struct Form<'r> {
    /// A key may have a time with one parameter and a ratio with another.
    units: BTreeSet<&'static str>,
    /// The sets of parameters that occur.
    names: BTreeSet<Vec<&'r str>>,
    /// The parameters that are whole numbers wherever they occur, and no others.
    whole: BTreeMap<&'r str, bool>,
}

impl<'r> Forms<'r> {
    pub fn of(references: &'r [Records]) -> Self {
        let mut forms: BTreeMap<&str, Form> = BTreeMap::new();
        for value in references.iter().flat_map(Records::values) {
            let form = forms.entry(&value.key).or_default();
            form.units.insert(value.unit.symbol());
            form.names.insert(names(&value.params));
            for (name, text) in &value.params {
                *form.whole.entry(name).or_insert(true) &= is_whole(text);
            }
        }
        Self(forms)
    }

    /// What is wrong with the form of a value, as the end of a sentence that begins with its name.
    pub fn fault(&self, value: &Value) -> Option<String> {
        if value.params.len() > MOST_PARTS {
            return Some(format!(
                "has {} parameters, and {MOST_PARTS} is the most",
                value.params.len()
            ));
        }
        // A key that no machine here has is a new experiment's.
        let form = self.0.get(value.key.as_str())?;
        let unit = value.unit.symbol();
        if !form.units.contains(unit) {
            let known: Vec<&str> = form.units.iter().copied().collect();
            return Some(format!(
                "has the unit {unit}, and the reference machines have {}",
                known.join(" or ")
            ));
        }
        if !form.names.contains(&names(&value.params)) {
            let known: Vec<String> = form.names.iter().map(|names| names.join(", ")).collect();
            return Some(format!(
                "has other parameters than on the reference machines, where they are {}",
                known.join(" or ")
            ));
        }
        let whole = |name: &str| form.whole.get(name).is_some_and(|whole| *whole);
        let (name, text) =
            value.params.iter().find(|(name, text)| whole(name) && !is_whole(text))?;
        Some(format!("has {name}={text}, which is no whole number"))
    }
}

fn names(params: &Params) -> Vec<&str> {
    params.keys().map(String::as_str).collect()
}

fn is_whole(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_digit())
        && text.parse().is_ok_and(|number: u64| number <= LARGEST)
}
