//! `doctor`: what this machine has, and what is missing.

use anyhow::{Result, bail};
use clap::Args;
use lab::out::{put, say};
use std::path::Path;

/// The options of `doctor`.
#[derive(Args)]
pub struct Doctor {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// Examines this machine and prints what was found. Fails only if the course itself can't run here.
    pub fn run(self, data: Option<&Path>) -> Result<()> {
        let rows = lab::doctor::examine(data);
        if self.json {
            say(&serde_json::to_string_pretty(&rows)?);
        } else {
            put(&lab::doctor::table(&rows));
        }
        let missing: Vec<&str> = rows
            .iter()
            .filter(|row| row.required && !row.found)
            .map(|row| row.name.as_str())
            .collect();
        if !missing.is_empty() {
            bail!("the course can't run without: {}", missing.join(", "));
        }
        Ok(())
    }
}
