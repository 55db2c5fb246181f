//! A machine's records as one file that a reader can send in, and the way back into the book.
//!
//! The file is plain text, so that people can read what they send. It holds the machine's parts by name, and of each
//! run its date, commit, compiler and values with at most `SENT` samples; paths are taken out. [`unpack`] trusts
//! none of it: a file from a stranger can be wrong in any way.

mod forms;

use crate::{
    Chapter, Error, Records, Result, Unit,
    files::{inside, open_regular, unmarked},
    machine::{Machine, VARIABLES, is_unoptimised},
    record::{self, ChapterRecord, Run, Value},
};
use forms::MOST_PARTS;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// How many samples of a value are sent at most: the spread stays, and a file of all experiments is small enough to
/// attach to a message.
const SENT: usize = 25;

/// The longest file that is taken in, in bytes: several times what all experiments leave.
const LONGEST: u64 = 16 << 20;

/// The form of the file; a later form gets another number.
const FORM: u32 = 1;

/// The longest text in a file, in characters.
const LONGEST_TEXT: usize = 400;

/// The longest text of a machine. Its CPU and its GPUs appear in what a page says of each of its values: what is a little
/// here is much in the book.
const LONGEST_NAME: usize = 100;

/// The most values that a machine may have: several times what the course measures.
const MOST_VALUES: usize = 50_000;

/// One machine's records, as they are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contribution {
    /// The form of the file.
    throughput_records: u32,
    /// The machine's name: its folder in the book's records.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// The records of its chapters, by the chapter's name.
    pub chapters: BTreeMap<String, ChapterRecord>,
    /// The keys whose values [`unpack`] left out, since this version of the course does not have them.
    #[serde(skip)]
    pub left_out: BTreeSet<String>,
}

/// What `records` hold, ready to be sent: no paths, no more than `SENT` samples of a value, and commands made anew.
///
/// # Errors
/// [`Error::Message`] if the machine has no records.
pub fn pack(records: &Records) -> Result<Contribution> {
    if records.values().next().is_none() {
        return Err(Error::message(
            "nothing is measured yet; run `cargo run -- measure --budget book`",
        ));
    }
    let mut chapters = records.chapters.clone();
    for run in chapters.values_mut().flat_map(|chapter| &mut chapter.runs) {
        check_build(run)?;
        run.command = command(run);
        let values = std::mem::take(&mut run.values);
        run.values = values.into_iter().map(|value| value.thinned(SENT)).collect();
    }
    let made = Contribution {
        throughput_records: FORM,
        name: suggested_name(&records.machine),
        machine: records.machine.clone(),
        chapters,
        left_out: BTreeSet::new(),
    };
    // Every text in it goes through the same sieve, whatever field it is in, now or later.
    let mut json = serde_json::to_value(&made).map_err(|e| Error::Message(e.to_string()))?;
    texts(&mut json, &mut |text| {
        *text = without_paths(text);
        Ok(())
    })?;
    serde_json::from_value(json).map_err(|e| Error::Message(e.to_string()))
}

/// The records in `text`, checked: known chapters and experiments, the units of `references`, numbers that agree with their
/// samples, texts without paths, a name that is a plain folder's. Values of other keys, such as a former version's, are left
/// out.
///
/// # Errors
/// [`Error::Message`]: one message that says what is wrong and what to do.
pub fn unpack(text: &str, chapters: &[Chapter], references: &[Records]) -> Result<Contribution> {
    if text.len() as u64 > LONGEST {
        return Err(too_long());
    }
    let mut made: Contribution = serde_json::from_str(unmarked(text))
        .map_err(|e| asked(format!("this is not a file of `measure --send` ({e})")))?;
    if made.throughput_records != FORM {
        return Err(Error::Message(format!(
            "the file has form {}, and this version of the course reads form {FORM}; use the versions that fit",
            made.throughput_records
        )));
    }
    check_name(&made.name)?;
    made.check(chapters, references)?;
    Ok(made)
}

/// The file at `path`, unless it is too long to be one of ours.
///
/// # Errors
/// [`Error::Message`] if it can't be read or is too long.
pub fn read(path: &Path) -> Result<String> {
    let unread = |e| {
        let path = path.display();
        Error::Message(format!("can't read {path} ({e}); give the path of the file that was sent"))
    };
    let file = open_regular(path).map_err(unread)?;
    if file.metadata().map_err(unread)?.len() > LONGEST {
        return Err(too_long());
    }
    io::read_to_string(file).map_err(unread)
}

fn too_long() -> Error {
    Error::Message(format!(
        "the file is longer than {}, more than all experiments leave; ask for the file of `measure --send`",
        Unit::Bytes.format(LONGEST as f64)
    ))
}

impl Contribution {
    /// The file's text.
    ///
    /// # Errors
    /// [`Error::Message`] if it can't be written as JSON.
    pub fn text(&self) -> Result<String> {
        record::to_text(self)
    }

    /// The same records under another name.
    ///
    /// # Errors
    /// [`Error::Message`] if it is no machine's name.
    pub fn named(self, name: &str) -> Result<Self> {
        check_name(name)?;
        Ok(Self { name: name.to_owned(), ..self })
    }

    /// All values of all runs.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.chapters.values().flat_map(|chapter| &chapter.runs).flat_map(|run| &run.values)
    }

    /// Writes the records into a new folder, `records/contributed/NAME`, and returns it.
    ///
    /// # Errors
    /// [`Error::Message`] if a machine of this name is there already, [`Error::Damaged`] if the folder can't be written;
    /// nothing is left of it then.
    pub fn write(&self, records: &Path) -> Result<PathBuf> {
        check_name(&self.name)?;
        let sent = records.join(record::CONTRIBUTED);
        if let Some(old) = same_name(records, &self.name).or_else(|| same_name(&sent, &self.name)) {
            return Err(Error::Message(format!(
                "there is a machine `{old}` already; give this one another name with `--machine NAME`, or delete the \
                 old folder first"
            )));
        }
        // Hidden: a try that was ended is no machine.
        let (part, folder) = (sent.join(format!(".{}", self.name)), sent.join(&self.name));
        let _ = fs::remove_dir_all(&part);
        let written = self
            .write_into(&part)
            .and_then(|()| fs::rename(&part, &folder).map_err(|e| Error::io(&folder, e)));
        if written.is_err() {
            let _ = fs::remove_dir_all(&part);
            let _ = fs::remove_dir(&sent); // if this would have been the first
        }
        written.map(|()| folder)
    }

    fn write_into(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        record::write_json(&folder.join("machine.json"), &self.machine)?;
        self.chapters.iter().try_for_each(|(chapter, runs)| {
            record::write_json(&folder.join(format!("{chapter}.json")), runs)
        })
    }

    /// Those of `names` (the reader's, the computer's) that occur as words in the file, which the reader should check
    /// before sending it.
    ///
    /// # Errors
    /// As [`Contribution::text`].
    pub fn traces<'n>(&self, names: &'n [String]) -> Result<Vec<&'n str>> {
        let text = self.text()?.to_lowercase();
        let in_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        // A computer's name may have dots.
        let found = names.iter().filter(|name| {
            let around: Vec<&str> = text.split(&name.to_lowercase()).collect();
            around.windows(2).any(|two| !two[0].ends_with(in_word) && !two[1].starts_with(in_word))
        });
        Ok(found.map(String::as_str).collect())
    }

    fn check(&mut self, chapters: &[Chapter], references: &[Records]) -> Result<()> {
        check_machine(&self.machine)?;
        let mut plain = self.clone();
        // What a model writes has lines.
        let runs = plain.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
        let params = runs.flat_map(|run| &mut run.values).flat_map(|v| v.params.values_mut());
        params.for_each(|text| *text = text.replace('\n', " "));
        let mut json = serde_json::to_value(plain).map_err(|e| Error::Message(e.to_string()))?;
        texts(&mut json, &mut |text| check_text(text))?;
        let mut known: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for value in references.iter().flat_map(Records::values) {
            known.entry(&value.key).or_default().push(value);
        }
        let mut seen = BTreeSet::new();
        // An experiment and a value may have one name.
        let mut once = |kind: &'static str, what: &str| {
            let first = seen.insert((kind, what.to_owned()));
            first.then_some(()).ok_or_else(|| asked(format!("the file has `{what}` twice")))
        };
        for (name, record) in &mut self.chapters {
            let chapter = chapters.iter().find(|chapter| chapter.name == name);
            let chapter = chapter.ok_or_else(|| unknown("chapter", name))?;
            for run in &mut record.runs {
                check_run(run, chapter, &mut self.left_out)?;
                once("experiment", &run.experiment)?;
                for value in &run.values {
                    let what = record::name(&value.key, &value.params).replace('\n', " ");
                    let alike = known.get(value.key.as_str()).map_or(&[][..], Vec::as_slice);
                    if let Some(why) = forms::fault(value, alike).or_else(|| fault(value)) {
                        return Err(asked(format!("`{what}` {why}")));
                    }
                    once("value", &what)?;
                }
            }
        }
        let count = self.values().count();
        if count > MOST_VALUES || count == 0 {
            return Err(Error::Message(format!(
                "the file has {count} values, and one of a machine has 1 to {MOST_VALUES}; ask for the file of \
                 `measure --send`"
            )));
        }
        Ok(())
    }
}

/// What is wrong with the file, and the way.
fn asked(wrong: String) -> Error {
    Error::Message(wrong + "; ask for the file as the command wrote it")
}

fn unknown(kind: &str, name: &str) -> Error {
    Error::Message(format!(
        "this version of the course has no {kind} `{name}`; receive the file with the commit that it names, or ask \
         for a new one"
    ))
}

/// Numbers of a build that is not optimised say nothing about a machine.
fn check_build(run: &Run) -> Result<()> {
    if is_unoptimised(&run.flags) {
        return Err(Error::Message(format!(
            "{} was measured by a build that is not optimised ({}); measure it again with `cargo run -- measure {}`",
            run.experiment, run.flags, run.experiment
        )));
    }
    Ok(())
}

/// A known experiment, and nothing in the run's own texts that `measure` does not write. What has no known key goes.
fn check_run(run: &mut Run, chapter: &Chapter, left_out: &mut BTreeSet<String>) -> Result<()> {
    check_build(run)?;
    let experiment = chapter.experiments.iter().find(|one| one.key == run.experiment);
    let experiment = experiment.ok_or_else(|| unknown("experiment", &run.experiment))?;
    let is_known = |key: &str| experiment.declared(key).is_some();
    let keys = run.values.iter().map(|v| &v.key).chain(run.skipped.iter().map(|s| &s.key));
    left_out.extend(keys.filter(|key| !is_known(key)).cloned());
    run.values.retain(|value| is_known(&value.key));
    run.skipped.retain(|skipped| is_known(&skipped.key));
    let form: String = run.date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let dated = form == "0000-00-00T00:00:00Z";
    let hex = run.commit.trim_end_matches('+');
    let committed = hex == "unknown"
        || (4..=40).contains(&hex.len()) && hex.chars().all(|c| c.is_ascii_hexdigit());
    let budgeted = ["quick", "full"].contains(&run.budget.as_str());
    for (fits, what, text) in [
        (dated, "date", &run.date),
        (committed, "commit", &run.commit),
        (budgeted, "budget", &run.budget),
        (run.command == command(run), "command", &run.command),
    ] {
        if !fits {
            return Err(asked(format!(
                "the run of {} has the {what} `{text}`, which `measure --send` does not write",
                run.experiment
            )));
        }
    }
    Ok(())
}

/// A machine's parts are as many and as long as those of real ones.
fn check_machine(machine: &Machine) -> Result<()> {
    let parts = [("GPUs", machine.gpus.len()), ("features", machine.features.len())];
    let parts = parts.into_iter().find(|(_, count)| *count > MOST_PARTS);
    let texts =
        [&machine.cpu, &machine.os].into_iter().chain(&machine.gpus).chain(&machine.features);
    let texts = texts.chain(&machine.driver).chain(&machine.cuda);
    let long = texts.map(|text| text.chars().count()).find(|length| *length > LONGEST_NAME);
    let why = match (parts, long, machine.cores) {
        (Some((what, count)), ..) => format!("has {count} {what}, and {MOST_PARTS} is the most"),
        (_, Some(length), _) => {
            format!("has a name of {length} characters, and {LONGEST_NAME} is the most")
        }
        (.., 0 | 100_001..) => format!("has {} cores", machine.cores),
        _ => return Ok(()),
    };
    Err(asked(format!("the machine {why}")))
}

/// What is wrong with a value, if its numbers do not agree with each other.
fn fault(value: &Value) -> Option<String> {
    let samples = &value.samples;
    if samples.0.is_empty() || samples.0.len() > record::KEPT || value.count() < samples.0.len() {
        let (here, taken) = (samples.0.len(), value.count());
        return Some(format!("has {here} samples of {taken}, which can't be"));
    }
    let (low, high) = samples.spread();
    let agree = if value.taken.is_some() {
        // A part of the samples: what all of them gave lies in their range.
        let row =
            [samples.quantile(0.0), value.low, value.median, value.high, samples.quantile(1.0)];
        row.is_sorted() || row.iter().any(|number| number.is_nan())
    } else {
        let near = |said: f64, is: f64| {
            (said - is).abs() <= 1e-9 * said.abs().max(is.abs()) || said.is_nan() && is.is_nan()
        };
        near(value.low, low) && near(value.median, samples.median()) && near(value.high, high)
    };
    if !agree {
        return Some("has a median or a spread that its samples do not give".to_owned());
    }
    let limit = value.limit.as_ref().map(|limit| limit.value);
    let limit = limit.filter(|limit| !limit.is_finite() || *limit <= 0.0)?;
    Some(format!("names the limit {limit}, which is no limit"))
}

/// Whether a character changes how others are shown, or is not shown itself: a text could then look like another.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Every text of the JSON, the names of what it has among them.
fn texts(
    json: &mut serde_json::Value,
    one: &mut impl FnMut(&mut String) -> Result<()>,
) -> Result<()> {
    use serde_json::Value as Json;
    match json {
        Json::String(text) => one(text),
        Json::Array(all) => all.iter_mut().try_for_each(|json| texts(json, one)),
        Json::Object(all) => all.iter_mut().try_for_each(|(name, json)| {
            one(&mut name.clone())?;
            texts(json, one)
        }),
        _ => Ok(()),
    }
}

/// No text is endless, has control characters, or names a path.
fn check_text(text: &str) -> Result<()> {
    let shown: String = text.chars().filter(|c| !is_unseen(*c)).take(40).collect();
    let why = if text.chars().count() > LONGEST_TEXT {
        "is too long"
    } else if text.chars().any(is_unseen) {
        "has control characters"
    } else if without_paths(text) != text {
        "names a path, which is the sender's own business"
    } else {
        return Ok(());
    };
    Err(asked(format!("the text `{shown}` {why}")))
}

/// A command that repeats the run: the reader's own had paths in it, or other experiments.
fn command(run: &Run) -> String {
    let (mut before, mut build, mut after) = (String::new(), String::new(), String::new());
    // What other numbers come from: variables, features, Python's frameworks next to ours, or another device.
    let mut words = run.command.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        let value = if value.is_empty() { words.peek().copied().unwrap_or("") } else { value };
        let plain = |c: char| c.is_ascii_alphanumeric() || ":,-".contains(c);
        let plain = !value.is_empty() && value.chars().all(plain);
        match option {
            "--peers" => after += " --peers",
            "--device" if plain => after += &format!(" --device {value}"),
            "--features" if plain => build += &format!(" --features {value}"),
            name if plain && VARIABLES.contains(&name) => before += &format!("{name}={value} "),
            _ => {}
        }
    }
    let (key, budget) = (&run.experiment, &run.budget);
    format!("{before}cargo run{build} -- measure {key} --budget {budget}{after}")
}

/// Whether `name` can be a machine's: a folder's name on every system that leads nowhere else, and one that can be read.
pub fn is_name(name: &str) -> bool {
    let plain = (1..=40).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let name = name.to_lowercase();
    // The book's list of machines, the folder of those that were sent in.
    let ours = ["index", record::CONTRIBUTED].contains(&name.as_str());
    // Devices of Windows, which has no folders of these names.
    let numbered = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
    let device = ["con", "prn", "aux", "nul"].contains(&name.as_str())
        || numbered.is_some_and(|number| number.len() == 1 && number != "-" && number != "_");
    plain && !ours && !device
}

/// The machine in this folder whose name is `name` to a system that does not tell capitals from small letters.
pub fn same_name(folder: &Path, name: &str) -> Option<String> {
    let all = inside(folder);
    let mut names = all.iter().filter_map(|path| path.file_name()?.to_str());
    names.find(|old| old.to_lowercase() == name.to_lowercase()).map(str::to_owned)
}

fn check_name(name: &str) -> Result<()> {
    // The reader's own is no name for another's machine.
    if is_name(name) && name.to_lowercase() != "yours" {
        return Ok(());
    }
    let shown: String = name.chars().filter(|c| !is_unseen(*c)).take(40).collect();
    Err(Error::Message(format!(
        "`{shown}` can't be the name of a contributed machine; choose letters, digits, - and _, at most 40, with \
         `--machine NAME`"
    )))
}

/// The machine as a folder's name: its first GPU, or its CPU and the cores.
fn suggested_name(machine: &Machine) -> String {
    let (part, tail) = match machine.gpus.first() {
        Some(gpu) => (gpu, String::new()),
        None => (&machine.cpu, format!("-{}core", machine.cores)),
    };
    // What is on every CPU's label says nothing.
    let said = ["cpu", "processor", "gpu", "corporation", "inc", "tm", "r"];
    let words = part.to_lowercase();
    let words = words
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && !said.contains(word));
    let mut name = words.collect::<Vec<_>>().join("-");
    name.truncate(40 - tail.len());
    let name = name.trim_matches('-');
    if name.is_empty() { format!("machine{tail}") } else { format!("{name}{tail}") }
}

/// `text` with `…` instead of each path that may be private. Those of the system's drivers are alike on all
/// machines and stay; so do addresses on the web.
fn without_paths(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "'\"`(),;<>=".contains(c);
    let shown = |piece: &str| {
        let word = piece.trim_end_matches(ends);
        let mark = &piece[word.len()..];
        if is_own_path(word) { format!("…{mark}") } else { piece.to_owned() }
    };
    text.split_inclusive(ends).map(shown).collect()
}

fn is_own_path(word: &str) -> bool {
    let of_system = ["/sys/", "/proc/", "/dev/"].iter().any(|start| word.starts_with(start));
    let on_web = word.starts_with("https://") || word.starts_with("http://");
    if of_system || on_web {
        return false;
    }
    let drive = word.len() > 2
        && word.as_bytes()[0].is_ascii_alphabetic()
        && [":\\", ":/"].contains(&word.get(1..3).unwrap_or(""));
    let starts = ["/", "~", "./", "../", "\\\\", "file:"];
    let within = ["/home/", "/Users/", "\\Users\\", "/root/", ":/"];
    drive
        || starts.iter().any(|start| word.starts_with(start)) && word.len() > 1
        || within.iter().any(|part| word.contains(part))
}

#[cfg(test)]
mod tests;
