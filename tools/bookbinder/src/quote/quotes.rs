//! What each machine has for a quote.

use super::{
    fences::Fences,
    machine::{YOURS, is_reference},
    panics::caught,
};
use crate::{html, terminal};
use anyhow::{Result, anyhow, bail};
use lab::{Chapter, Error, Experiment, Records, record::is_below};

/// What pages quote from: the chapters define the keys, the machines have the measurements.
#[derive(Clone, Copy)]
pub struct Quotes<'a> {
    /// The chapters.
    pub chapters: &'a [Chapter],
    /// The reference machines in order, then those that readers sent in, then the reader's own.
    pub records: &'a [Records],
    /// The figures and tables that pages declare.
    pub fences: &'a Fences,
}

/// What comes before the reason why a value was skipped.
pub(super) const SKIPPED: &str = "not measured: ";

/// What one machine has for a quote: the thing itself, or why not.
pub(super) enum Found<T> {
    Yes(T),
    No(String),
}

impl<'a> Quotes<'a> {
    /// That the machine which a page names is a reference machine, in a book that has any.
    pub(super) fn has_reference(self, on: Option<&str>) -> Result<()> {
        let mut machines = self.records.iter().filter(|records| is_reference(records)).peekable();
        match on {
            Some(on) if machines.peek().is_some() && machines.all(|records| records.name != on) => {
                bail!("there is no reference machine `{on}`")
            }
            _ => Ok(()),
        }
    }

    /// What each machine has of `what`. A key that is wrong stops the build, unless another machine has the value:
    /// machines differ in the sizes and devices that they measure. The reader's own never stops it, nor one that was
    /// sent in: it may be older than the page, and contain what no measurement writes.
    pub(super) fn each<T>(
        self,
        what: &str,
        find: impl Fn(&'a Records) -> lab::Result<T>,
    ) -> Result<Vec<(&'a Records, Found<T>)>> {
        let (mut all, mut wrong, mut any) = (Vec::new(), None, false);
        for records in self.records {
            let found = match caught(|| find(records)) {
                Ok(Ok(value)) => {
                    any = true;
                    Found::Yes(value)
                }
                Ok(Err(Error::Skipped { why, .. })) => Found::No(format!("{SKIPPED}{why}")),
                Ok(Err(Error::NotMeasured { .. })) => Found::No("not measured yet".to_owned()),
                Ok(Err(_)) if !is_reference(records) => Found::No("not measured yet".to_owned()),
                Ok(Err(Error::Key(why))) => {
                    wrong.get_or_insert(why);
                    Found::No("not measured here".to_owned())
                }
                Ok(Err(other)) => {
                    return Err(anyhow!(other).context(format!("on {}", records.name)));
                }
                Err(panic) if is_reference(records) => {
                    bail!("{what} can't be made from the records of {}: {panic}", records.name)
                }
                Err(panic) => {
                    terminal::note_once(format!(
                        "warning: {what} can't be made from the records of {}, and the page reports it: {panic}",
                        records.name
                    ));
                    Found::No("it can't be made from these records".to_owned())
                }
            };
            all.push((records, found));
        }
        match wrong {
            Some(why) if !any || why.contains(" names ") => bail!(why),
            _ => Ok(all),
        }
    }

    /// The attributes of what one machine has, or has not, beside the others: see [`Quotes::machine_attributes`].
    pub(super) fn attributes_among<T>(
        self,
        records: &Records,
        found: &[(&Records, Found<T>)],
    ) -> String {
        self.machine_attributes(records, &lacking(found, records))
    }

    /// The attributes that the machine switch works with: whose it is, and which machines it stands in for, because
    /// they have none. What is not the default machine's is hidden, so that a page without its script shows one
    /// machine.
    pub(super) fn machine_attributes(self, records: &Records, stands_in: &[&str]) -> String {
        let shown_for = |name: &str| name == records.name || stands_in.contains(&name);
        let default = default_machine(self.records).is_some_and(|first| shown_for(&first.name));
        let also = match stands_in {
            [] => String::new(),
            _ => format!(" data-also=\"{}\"", html::attribute(&stands_in.join(" "))),
        };
        let hidden = if default { "" } else { " hidden" };
        format!("data-machine=\"{}\"{also}{hidden}", html::attribute(&records.name))
    }
}

/// The machine that a page shows first: the reader's if it was measured, else the first reference.
pub fn default_machine(records: &[Records]) -> Option<&Records> {
    records.iter().find(|records| records.name == YOURS).or_else(|| records.first())
}

/// The experiment that a key belongs to: a value's, a figure's or a table's.
pub fn owner<'c>(chapters: &'c [Chapter], key: &str) -> Option<&'c Experiment> {
    let all = chapters.iter().flat_map(|chapter| &chapter.experiments);
    all.filter(|experiment| is_below(key, experiment.key)).max_by_key(|e| e.key.len())
}

/// The first reference machine that has the thing: it stands in for those that have none.
pub(super) fn stand_in<'a, T>(found: &[(&'a Records, Found<T>)]) -> Option<&'a Records> {
    let has = |(records, found): &&(&'a Records, Found<T>)| {
        is_reference(records) && matches!(found, Found::Yes(_))
    };
    found.iter().find(has).map(|(records, _)| *records)
}

/// What the first reference machine has, or the next one that has it, or why none does.
pub(super) fn first_reference<'f, T>(
    found: &'f [(&Records, Found<T>)],
) -> Result<(&'f Records, &'f T), &'f str> {
    let mut why = None;
    for (records, one) in found.iter().filter(|(records, _)| is_reference(records)) {
        match one {
            Found::Yes(thing) => return Ok((records, thing)),
            Found::No(reason) => why = why.or(Some(reason.as_str())),
        }
    }
    Err(why.unwrap_or("not measured yet"))
}

/// Which machines a machine stands in for: all that have none, if it is the first reference machine that has the thing.
fn lacking<'a, T>(found: &[(&'a Records, Found<T>)], records: &Records) -> Vec<&'a str> {
    if stand_in(found).is_none_or(|first| first.name != records.name) {
        return Vec::new();
    }
    let lacks = found.iter().filter(|(_, found)| matches!(found, Found::No(_)));
    lacks.map(|(records, _)| records.name.as_str()).collect()
}
