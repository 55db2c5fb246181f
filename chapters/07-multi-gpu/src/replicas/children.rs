//! Processes that one has started, as ranks that train together. While rank 0 of a machine waits for its own, it sees when one
//! ends or is stopped.

use crate::{Error, Rank, Result};
use std::{
    io,
    ops::Range,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Processes. They are ended with this.
pub struct Children(pub Vec<Started>);

/// A process that was started.
pub struct Started {
    /// The process.
    pub process: Child,
    rank: Rank,
    /// Since when it is stopped, if it is.
    stopped: Option<Instant>,
}

impl Children {
    /// Starts a command for each of these ranks.
    ///
    /// # Errors
    /// The system's, if it starts no more of them.
    pub fn start(ranks: Range<usize>, command: impl Fn(usize) -> Command) -> io::Result<Self> {
        let mut children = Self(Vec::new());
        for rank in ranks {
            let process = command(rank).stdin(Stdio::null()).spawn()?;
            children.0.push(Started { process, rank: Rank(rank), stopped: None });
        }
        Ok(children)
    }

    /// Fails if one has ended, or has been stopped for so long.
    ///
    /// # Errors
    /// [`Error::Lost`] or [`Error::Silent`] with its rank.
    pub fn check(&mut self, silence: Duration) -> Result<()> {
        for child in &mut self.0 {
            let rank = child.rank;
            if let Ok(Some(status)) = child.process.try_wait() {
                let why = format!("its process has ended ({status})");
                return Err(Error::Lost { rank, why });
            }
            let now = is_stopped(child.process.id()).then(Instant::now);
            child.stopped = now.map(|now| child.stopped.unwrap_or(now));
            let stopped = child.stopped.map_or(Duration::ZERO, |since| since.elapsed());
            if stopped > silence {
                return Err(Error::Silent { rank, seconds: stopped.as_secs_f64() });
            }
        }
        Ok(())
    }

    /// Waits for them; those that have not ended by then are ended.
    pub fn wait(&mut self, limit: Duration) {
        let until = Instant::now() + limit;
        for Started { process, .. } in &mut self.0 {
            while matches!(process.try_wait(), Ok(None)) {
                if Instant::now() > until {
                    let _ = process.kill();
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.wait(Duration::ZERO);
    }
}

/// Whether a process has been stopped (Linux reports it in proc(5), "stat"; elsewhere only its silence does).
fn is_stopped(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before it may have brackets of its own.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}
