//! The other processes of a machine, which rank 0 has started. While it waits for them, it sees when one ends or is
//! stopped.

use crate::{
    error::{Error, Result},
    rank::Rank,
    replicas::member::Member,
};
use std::{
    env,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Processes, rank 1 the first of them. They are ended with this.
pub struct Children(Vec<Started>);

struct Started {
    process: Child,
    /// Since when it is stopped, if it is.
    stopped: Option<Instant>,
}

impl Children {
    /// Starts this program again for each other rank, with the same options.
    ///
    /// # Errors
    /// [`Error::Config`] if the system starts no more of them.
    pub fn start(hub: &SocketAddr, size: usize) -> Result<Self> {
        let failed = |e: std::io::Error| {
            Error::Config(format!("another process can't be started ({e}); take fewer --replicas"))
        };
        let program = env::current_exe().map_err(failed)?;
        let mut children = Self(Vec::new());
        for rank in 1..size {
            let child = Command::new(&program)
                .args(env::args_os().skip(1))
                .envs(Member::here(rank, size, &hub.to_string()).variables())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn();
            children.0.push(Started { process: child.map_err(failed)?, stopped: None });
        }
        Ok(children)
    }

    /// Fails if one has ended, or has been stopped for so long.
    ///
    /// # Errors
    /// [`Error::Lost`] or [`Error::Silent`] with its rank.
    pub fn check(&mut self, silence: Duration) -> Result<()> {
        for (at, child) in self.0.iter_mut().enumerate() {
            let rank = Rank(at + 1);
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
