//! Before the first step, every rank shows its setup: its program, its data and its settings. Ranks
//! that differ would not fail. They would train a wrong model.

use crate::{Communicator, Error, Rank, Result};
use lab::data::DataSet;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, sync::OnceLock};
use training::{Config, Start, sets};

// ANCHOR: setup
/// What ranks that train together must have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The version of this program.
    pub version: String,
    /// SHA-256 of the file that runs.
    pub program: String,
    /// SHA-256 of the training images and labels.
    pub data: String,
    /// SHA-256 of those to test on.
    pub test: String,
    /// The settings, each by its option's name.
    pub settings: BTreeMap<String, String>,
}
// ANCHOR_END: setup

/// SHA-256 of the program that runs, once for each process.
fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let file = std::env::current_exe().and_then(std::fs::read);
        file.map_or("unknown".to_owned(), |bytes| format!("{:x}", Sha256::digest(bytes)))
    })
}

impl Setup {
    /// The setup of a rank that is to train by `config` on `data`.
    pub fn of(config: &Config, data: &DataSet) -> Self {
        let resume = config.start == Start::Resume;
        let learned_from = sets::fingerprint(&sets::seen(&config.settings, data));
        Self::with(&config.settings, resume, [learned_from, sets::fingerprint(&data.test)])
    }

    /// The setup of a rank with these settings, each by its option's name, and these hashes of its data.
    pub fn with(settings: &impl Serialize, resume: bool, [data, test]: [String; 2]) -> Self {
        let value = serde_json::to_value(settings).unwrap_or_default();
        let mut settings: BTreeMap<String, String> = value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.to_string().trim_matches('"').to_owned()))
            .collect();
        settings.insert("resume".to_owned(), resume.to_string());
        let (version, program) = (env!("CARGO_PKG_VERSION").to_owned(), program().to_owned());
        Self { version, program, data, test, settings }
    }

    /// The first difference to another setup, in words: `--lr 0.01, and rank 0 has 0.001`.
    fn difference(&self, first: &Self) -> Option<String> {
        let short = |hash: &str| hash.chars().take(8).collect::<String>();
        // Settings first: a wrong --limit is a better reason than the data that follows from it.
        let names = first.settings.keys().chain(self.settings.keys());
        for name in names {
            let (mine, theirs) = (self.settings.get(name), first.settings.get(name));
            if mine != theirs {
                let word = |value: Option<&String>| value.cloned().unwrap_or("nothing".to_owned());
                return Some(format!(
                    "--{name} {}, and rank 0 has {}; start all ranks with the same options",
                    word(mine),
                    word(theirs)
                ));
            }
        }
        let pairs = [
            ("version", &self.version, &first.version, "install the same version everywhere"),
            ("training data", &self.data, &first.data, "give all ranks the same files with --data"),
            ("test data", &self.test, &first.test, "give all ranks the same files with --data"),
            ("program file", &self.program, &first.program, "copy one build to all machines"),
        ];
        pairs.into_iter().find(|(_, mine, theirs, _)| mine != theirs).map(
            |(what, mine, theirs, way)| {
                format!("another {what} ({}, and rank 0 has {}); {way}", short(mine), short(theirs))
            },
        )
    }
}

// ANCHOR: shake
/// Refuses ranks that differ from rank 0. All ranks see all setups, so all
/// report the same error.
#[allow(clippy::missing_errors_doc, reason = "they are what it is for")]
pub fn shake(comm: &mut dyn Communicator, setup: &Setup) -> Result<()> {
    let mine = serde_json::to_vec(setup).map_err(|e| unreadable(&e))?;
    let all = comm.all_gather_bytes(&mine)?;
    let setups = all.iter().map(|setup| serde_json::from_slice(setup));
    let setups: Result<Vec<Setup>, _> = setups.collect();
    let setups = setups.map_err(|e| unreadable(&e))?;
    for (rank, setup) in setups.iter().enumerate() {
        if let Some(difference) = setup.difference(&setups[0]) {
            let rank = Rank(rank);
            return Err(Error::Config(format!("rank {rank} has {difference}")));
        }
    }
    Ok(())
}
// ANCHOR_END: shake

fn unreadable(error: &serde_json::Error) -> Error {
    Error::Config(format!(
        "a rank's setup can't be read ({error}); it must be another version of this program: copy one build to all \
         machines"
    ))
}
