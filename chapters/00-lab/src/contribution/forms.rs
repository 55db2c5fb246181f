//! The forms that a key's values have on the machines that are known: units, names of parameters, and which parameters
//! are whole numbers. Figures rely on them.

use crate::record::Value;
use serde_json::json;
use std::collections::BTreeSet;

/// The most GPUs and the most features of a machine, and the most parameters of a value.
pub(super) const MOST_PARTS: usize = 64;

/// The largest number of a parameter: far above every size, and exact as a float.
const LARGEST: u64 = 1 << 50;

/// What is wrong with the form of a value, as the end of a sentence that begins with its name. `known` are the values of its
/// key on the reference machines; one that no machine here has is a new experiment's.
pub(super) fn fault(value: &Value, known: &[&Value]) -> Option<String> {
    if value.params.len() > MOST_PARTS {
        let count = value.params.len();
        return Some(format!("has {count} parameters, and {MOST_PARTS} is the most"));
    }
    if known.is_empty() {
        return None;
    }
    // A key may have a time with one parameter and a ratio with another.
    let each = |of: &dyn Fn(&Value) -> String| {
        let each: BTreeSet<String> = known.iter().map(|value| of(value)).collect();
        Vec::from_iter(each).join(" or ")
    };
    if !known.iter().any(|known| known.unit == value.unit) {
        let unit = |value: &Value| json!(value.unit).as_str().unwrap_or_default().to_owned();
        let (unit, units) = (unit(value), each(&unit));
        return Some(format!("has the unit {unit}, and the reference machines have {units}"));
    }
    if !known.iter().any(|known| known.params.keys().eq(value.params.keys())) {
        let sets = each(&|value| value.params.keys().cloned().collect::<Vec<_>>().join(", "));
        return Some(format!(
            "has other parameters than on the reference machines, where they are {sets}"
        ));
    }
    // Whole wherever it occurs, and no other.
    let whole = |name: &str| known.iter().filter_map(|value| value.param(name)).all(is_whole);
    let (name, text) = value.params.iter().find(|(name, text)| !is_whole(text) && whole(name))?;
    Some(format!("has {name}={text}, which is no whole number"))
}

fn is_whole(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_digit())
        && text.parse().is_ok_and(|number: u64| number <= LARGEST)
}
