//! Records: what a machine measured, as JSON that a page quotes and a reader can check.
//!
//! `book/records/MACHINE/machine.json` says what the machine is, `CHAPTER.json` next to it holds the
//! runs of that chapter's experiments with their samples. `measure` alone writes them.

use crate::{
    Error, Result, Samples, Unit,
    machine::Machine,
    run::{
        files::{replace, unwritable},
        folder::LOCK,
    },
};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fmt::{Display, Write as _},
    fs, io,
    path::Path,
};

/// The parameters of a value, such as `n = 1024` or `device = cpu`.
pub type Params = BTreeMap<String, String>;

/// Parameters as experiments write them: `&[("n", &1024), ("rung", &"naive")]`.
pub type ParamList<'a> = &'a [(&'a str, &'a dyn Display)];

/// [`ParamList`] as [`Params`].
pub fn params(list: ParamList) -> Params {
    list.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
}

/// `key n=1024 rung=naive`, as a page names a value.
pub fn name(key: &str, params: &Params) -> String {
    params.iter().fold(key.to_owned(), |mut text, (name, value)| {
        let _ = write!(text, " {name}={value}");
        text
    })
}

/// The limit that a rate is compared with, in the value's own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// What the limit is, such as `one core's AVX-512 FMA peak`.
    pub name: String,
    /// The limit itself.
    pub value: f64,
}

/// One measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The key: the experiment's own or one below it (`matmul.ladder`, `matmul.ladder.speedup`).
    pub key: String,
    /// What it was measured with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: Params,
    /// The unit of the numbers below.
    pub unit: Unit,
    /// The median of the samples.
    #[serde(deserialize_with = "or_nan")]
    pub median: f64,
    /// The lower quartile.
    #[serde(deserialize_with = "or_nan")]
    pub low: f64,
    /// The upper quartile.
    #[serde(deserialize_with = "or_nan")]
    pub high: f64,
    /// What a rate is compared with, where there is such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// How many samples were taken, where `samples` are a part of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<usize>,
    /// The samples, in the order in which they were taken: all of them, or [`KEPT`] spread evenly over their range.
    pub samples: Samples,
}

/// How many samples of a value a record keeps: as many as show its spread. The median and the quartiles next to them
/// are those of all that were taken.
pub const KEPT: usize = 101;

impl Value {
    /// A value from its samples.
    pub fn new(key: &str, list: ParamList, unit: Unit, samples: Samples) -> Self {
        let (low, high) = samples.spread();
        Self {
            key: key.to_owned(),
            params: params(list),
            unit,
            median: samples.median(),
            low,
            high,
            limit: None,
            taken: None,
            samples,
        }
    }

    /// The value with at most `most` of its samples (see [`Samples::thinned`]); it says how many were taken.
    #[must_use]
    pub fn thinned(self, most: usize) -> Self {
        let (count, samples) = (self.count(), self.samples.thinned(most));
        let taken = (samples.0.len() < count).then_some(count);
        Self { taken, samples, ..self }
    }

    /// How many samples were taken.
    pub fn count(&self) -> usize {
        self.taken.unwrap_or(self.samples.0.len())
    }

    /// The median as text: `160 GFLOP/s`.
    pub fn text(&self) -> String {
        self.unit.format(self.median)
    }

    /// The median as a fraction of the limit, if there is a limit.
    pub fn of_limit(&self) -> Option<f64> {
        self.limit.as_ref().map(|limit| self.median / limit.value)
    }

    fn matches(&self, key: &str, wanted: &Params) -> bool {
        self.key == key && wanted.iter().all(|(name, value)| self.params.get(name) == Some(value))
    }
}

/// A value that an experiment could not measure, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// The key that it would have had.
    pub key: String,
    /// The parameters that it would have had.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: Params,
    /// The reason, as a clause: `this CPU has no AMX`.
    pub why: String,
}

/// One run of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The experiment's key.
    pub experiment: String,
    /// The command that repeats it.
    pub command: String,
    /// When it ran, in UTC (RFC 3339).
    pub date: String,
    /// The commit of the course, with `+` behind it if files were changed.
    pub commit: String,
    /// `quick` or `full`.
    pub budget: String,
    /// The compiler.
    pub rustc: String,
    /// The build profile and the compiler flags.
    pub flags: String,
    /// Whether it was cut off: what it kept until then is all there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// What was measured.
    pub values: Vec<Value>,
    /// What was not, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// All runs of one chapter on one machine: the file `CHAPTER.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChapterRecord {
    /// The latest run of each experiment.
    pub runs: Vec<Run>,
}

/// The folder of the machines that readers sent in, next to the reference machines'.
pub const CONTRIBUTED: &str = "contributed";

/// What one machine measured.
#[derive(Clone, Debug)]
pub struct Records {
    /// The machine.
    pub machine: Machine,
    /// The folder's name: `epyc-2core`, `h200`, `yours`.
    pub name: String,
    /// Whether a reader sent them in: the folder lies in one that is named [`CONTRIBUTED`].
    pub contributed: bool,
    /// The chapters' records, by the chapter's name.
    pub chapters: BTreeMap<String, ChapterRecord>,
}

impl Records {
    /// Reads the folder of one machine.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it has no `machine.json`; [`Error::Message`] if a file is not a record.
    pub fn load(folder: &Path) -> Result<Self> {
        let machine = read_json(&folder.join(MACHINE))?;
        let name =
            folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let contributed =
            folder.parent().is_some_and(|parent| parent.file_name() == Some(CONTRIBUTED.as_ref()));
        let mut chapters = BTreeMap::new();
        let entries = fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
        for entry in entries {
            let path = entry.map_err(|e| Error::io(folder, e))?.path();
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            if let (Some("json"), Some(stem)) = (path.extension().and_then(|e| e.to_str()), stem)
                && stem != "machine"
            {
                chapters.insert(stem, read_json(&path)?);
            }
        }
        Ok(Self { machine, name, contributed, chapters })
    }

    /// The one value with this key whose parameters include those given.
    ///
    /// # Errors
    /// [`Error::NotMeasured`] if the experiment did not run here, or was cut off before this value, [`Error::Skipped`] if it
    /// left this value out, [`Error::Key`] if it ran and has no such value, or more than one.
    pub fn find(&self, key: &str, wanted: &Params) -> Result<&Value> {
        let what = name(key, wanted);
        let found: Vec<&Value> = self.values().filter(|value| value.matches(key, wanted)).collect();
        match found[..] {
            [value] => return Ok(value),
            [] => {}
            _ => {
                return Err(Error::Key(format!(
                    "`{what}` names {} values on {}; name more of the parameters {}",
                    found.len(),
                    self.name,
                    found[0].params.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
                )));
            }
        }
        let skipped = self.runs().flat_map(|run| &run.skipped).find(|skipped| {
            skipped.key == key
                && wanted
                    .iter()
                    .all(|(name, value)| skipped.params.get(name).is_none_or(|v| v == value))
        });
        if let Some(skipped) = skipped {
            return Err(Error::Skipped { what, why: skipped.why.clone() });
        }
        if self.run_of(key).is_some_and(|run| !run.unfinished) {
            let near: Vec<String> = self
                .values()
                .filter(|v| v.key == key)
                .take(5)
                .map(|v| name(&v.key, &v.params))
                .collect();
            return Err(Error::Key(format!(
                "`{what}` is not among the values that the experiment left on {}; there are {}",
                self.name,
                if near.is_empty() { "none with this key".to_owned() } else { near.join("; ") }
            )));
        }
        let chapter = key.split('.').next().unwrap_or(key).to_owned();
        Err(Error::NotMeasured { what, chapter })
    }

    /// All values with this key whose parameters include those given, in the order of their measuring.
    pub fn all(&self, key: &str, wanted: &Params) -> Vec<&Value> {
        self.values().filter(|value| value.matches(key, wanted)).collect()
    }

    /// The run that a key's values come from.
    pub fn run_of(&self, key: &str) -> Option<&Run> {
        let below = self.runs().filter(|run| is_below(key, &run.experiment));
        below.max_by_key(|run| run.experiment.len())
    }

    /// All runs of all chapters.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.chapters.values().flat_map(|chapter| &chapter.runs)
    }

    /// All values of all runs.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.runs().flat_map(|run| &run.values)
    }
}

/// Whether `key` is the experiment's own key or one below it.
pub fn is_below(key: &str, experiment: &str) -> bool {
    key.strip_prefix(experiment).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Puts `run` into the chapter's file in `folder`, replacing an earlier run of the same experiment,
/// and writes `machine.json` next to it. Other experiments' runs stay, and a run that is at its end until the new one is, too.
///
/// # Errors
/// [`Error::Damaged`] if the folder cannot be written; the old file is then still whole.
pub fn save(folder: &Path, machine: &Machine, chapter: &str, run: Run) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| not_written(folder, &e))?;
    // Two programs that measure at once each keep the other's runs. Not every system can open a folder and lock it.
    let turn = fs::File::open(folder)
        .or_else(|_| fs::File::options().create(true).append(true).open(folder.join(LOCK)));
    let _ = turn.as_ref().map(fs::File::lock);
    write_json(&folder.join(MACHINE), machine)?;
    let mut record = chapter_record(folder, chapter)?;
    match record.runs.iter_mut().find(|old| old.experiment == run.experiment) {
        Some(old) if run.unfinished && !old.unfinished => {}
        Some(old) => *old = run,
        None => record.runs.push(run),
    }
    write_json(&folder.join(format!("{chapter}.json")), &record)
}

/// That [`save`] will work for these chapters, before minutes of measuring depend on it: the folder can be written, the
/// records that are in it can be read, and they are this machine's.
///
/// # Errors
/// As [`save`].
pub fn can_save<'c>(
    folder: &Path,
    machine: &Machine,
    chapters: impl IntoIterator<Item = &'c str>,
) -> Result<()> {
    // No more than is there already: another program may be about to write here. A link that leads nowhere is there, too.
    let there = folder.ancestors().find(|at| at.symlink_metadata().is_ok());
    let probe = there.unwrap_or(Path::new(".")).join(format!("{}.part", std::process::id()));
    let written = fs::write(&probe, "{}").map_err(|e| not_written(folder, &e));
    let _ = fs::remove_file(&probe);
    written?;
    chapters.into_iter().try_for_each(|chapter| chapter_record(folder, chapter).map(drop))?;
    let old = folder.join(MACHINE);
    if !old.exists() {
        return Ok(());
    }
    let old: Machine = read_json(&old)?;
    if old.may_be(machine) {
        return Ok(());
    }
    let [old, new] = [&old, machine].map(Machine::in_short);
    let why = format!(
        "its records are of another machine ({old}; this one: {new}); name this one with --machine NAME, or move the folder \
         away"
    );
    Err(Error::damaged(folder, why))
}

/// The machine's file in its folder.
const MACHINE: &str = "machine.json";

/// What is said of a folder for records, or a file in it, that can't be written.
fn not_written(path: &Path, error: &io::Error) -> Error {
    unwritable(path, error, "--records")
}

/// The chapter's record in `folder`; an empty one if there is none yet.
fn chapter_record(folder: &Path, chapter: &str) -> Result<ChapterRecord> {
    let path = folder.join(format!("{chapter}.json"));
    if path.exists() { read_json(&path) } else { Ok(ChapterRecord::default()) }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    serde_json::from_str(&text).map_err(|e| {
        Error::Message(format!(
            "{} is not a record ({e}); delete it and run `measure` again",
            path.display()
        ))
    })
}

/// A reader never sees half a record, not even after the machine has lost its power.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    replace(path, to_text(value)?.as_bytes()).map_err(|e| not_written(path, &e))
}

/// JSON for people: each value of a run on one line, and each that it skipped.
pub(crate) fn to_text(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Message(e.to_string()))?;
    Ok(one_value_a_line(&text))
}

/// JSON has no NaN: a number that is none (a loss that diverged) is written as null, and read back as NaN.
fn or_nan<'de, D: serde::Deserializer<'de>>(json: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(json)?.unwrap_or(f64::NAN))
}

/// Pretty JSON with each element of the arrays `values` and `skipped` on one line: a run that is measured again changes
/// as many lines as it has values.
fn one_value_a_line(pretty: &str) -> String {
    let mut out = String::with_capacity(pretty.len());
    // How far the array is indented whose elements are put together.
    let mut array = None;
    for line in pretty.lines() {
        let words = line.trim_start();
        let depth = line.len() - words.len();
        let of_element = array.map(|array| depth.cmp(&(array + 2)));
        match of_element {
            // Inside an element.
            Some(Ordering::Greater) => {
                if !out.ends_with(['{', '[']) && !words.starts_with(['}', ']']) {
                    out.push(' ');
                }
                out.push_str(words);
                continue;
            }
            Some(Ordering::Equal) if words.starts_with(['}', ']']) => out.push_str(words),
            Some(Ordering::Equal) => {
                out.push_str(line);
                if words.ends_with(['{', '[']) {
                    continue; // an element begins
                }
            }
            Some(Ordering::Less) | None => {
                let begins = ["\"values\": [", "\"skipped\": ["].contains(&words);
                array = begins.then_some(depth);
                out.push_str(line);
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
