//! What a run knows about itself: what makes its numbers, which programs have computed them, and its curves.

use crate::machine::{Machine, Provenance};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What makes a run's numbers besides its settings, part by part: `test set`, and its digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity(BTreeMap<String, String>);

impl Identity {
    /// An identity of these parts, each with its digest, and, if people can tell more, with words before it.
    pub fn new<const N: usize>(parts: [(&str, String); N]) -> Self {
        Self(parts.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// The first part that is another one now: `another test set (3 images, 12345678; now 4 images, 9abcdef0)`.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let short = |all: &Self, name| {
            let words = all.0.get(name).map_or("none", String::as_str).split(' ');
            words
                .map(|word| if word.len() == 64 { &word[..8] } else { word })
                .collect::<Vec<_>>()
                .join(" ")
        };
        let name =
            self.0.keys().chain(now.0.keys()).find(|name| self.0.get(*name) != now.0.get(*name))?;
        Some(format!("another {name} ({}; now {})", short(self, name), short(now, name)))
    }
}

/// What a run knows about itself, in its checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// What it learns and is tested on.
    pub identity: Identity,
    /// When it began, in UTC.
    pub started: String,
    /// Its parts.
    pub parts: Vec<Part>,
    /// Its curves, as TensorBoard is given them.
    pub events: Vec<Event>,
}

impl Journal {
    /// That of a run which begins now.
    pub fn new(identity: Identity) -> Self {
        let started = Provenance::now().date;
        Self { identity, started, parts: Vec::new(), events: Vec::new() }
    }
}

/// A part of a run: from its beginning or from where it was gone on with, by one program on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Steps that were taken before it.
    pub after: u64,
    /// When it began, in UTC.
    pub started: String,
    /// The command.
    pub command: String,
    /// The commit of the course.
    pub commit: String,
    /// The compiler.
    pub rustc: String,
    /// How the program was built.
    pub flags: String,
    /// What computed the steps.
    pub device: String,
    /// Where the data came from, in words.
    pub data: String,
    /// The machine's CPU.
    pub cpu: String,
    /// Its cores.
    pub cores: usize,
    /// Its GPUs.
    pub gpus: Vec<String>,
}

impl Part {
    /// One that begins now, after so many steps.
    pub fn begins(after: u64, device: &str, data: &str) -> Self {
        let (machine, from) = (Machine::detect(), Provenance::now());
        Self {
            after,
            started: from.date,
            command: from.command,
            commit: from.commit,
            rustc: from.rustc,
            flags: from.flags,
            device: device.to_owned(),
            data: data.to_owned(),
            cpu: machine.cpu,
            cores: machine.cores,
            gpus: machine.gpus,
        }
    }
}

/// Points of a run's curves at one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The step.
    pub step: u64,
    /// When it was, in seconds since 1970.
    pub time: f64,
    /// The curves' names, and their values.
    pub points: Vec<(String, f64)>,
}

impl Event {
    /// Points of this moment.
    pub fn now(step: u64, points: &[(&str, f64)]) -> Self {
        let points = points.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let time = std::time::SystemTime::UNIX_EPOCH.elapsed();
        Self { step, time: time.map_or(0.0, |since| since.as_secs_f64()), points }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_differs_is_named() {
        let of = |test: &str| {
            let digest = |c: &str| c.repeat(64);
            Identity::new([
                ("training set", digest("a")),
                ("test set", format!("5 images, {}", digest(test))),
            ])
        };
        assert_eq!(of("b").difference(&of("b")), None);
        let said = of("b").difference(&of("c")).unwrap();
        assert_eq!(said, "another test set (5 images, bbbbbbbb; now 5 images, cccccccc)");
        let said = of("b").difference(&Identity::default()).unwrap();
        assert!(said.ends_with("; now none)"), "{said}");
    }
}
