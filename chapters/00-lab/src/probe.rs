//! Asking other programs about the machine, without ever waiting long for a reply.

use std::{
    io::{self, Read as _},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Whether this process runs a notebook's cells: evcxr sets the variable for the process that it starts.
pub(crate) fn in_notebook() -> bool {
    std::env::var_os("EVCXR_IS_RUNTIME").is_some()
}

/// Lets a program that is about to start end when the thread that starts it ends, however that is: a signal may be for this
/// program alone. (On Linux; elsewhere only a terminal's Ctrl-C ends both.)
pub fn tied(command: &mut Command) -> &mut Command {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::os::unix::process::{CommandExt as _, parent_id};
        let here = std::process::id();
        let tie = move || {
            // SAFETY: a system call that takes numbers.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
            // This program may have ended before that.
            if parent_id() == here { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
        };
        // SAFETY: `tie` makes two system calls, as a new process may.
        unsafe { command.pre_exec(tie) };
    }
    command
}

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What `program` prints on its standard output, if it is there, succeeds, and replies in time.
pub fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    ask_within(PATIENCE, program, arguments)
}

/// [`ask`] with this patience.
pub fn ask_within(patience: Duration, program: &str, arguments: &[&str]) -> Option<String> {
    answer(patience, Command::new(program).args(arguments))
}

/// [`ask_within`] of a program with more than arguments. It ends with this one.
pub fn answer(patience: Duration, program: &mut Command) -> Option<String> {
    let (text, status) = within(patience, program, 1 << 20, false).ok()?;
    status?.success().then(|| text.trim().to_owned())
}

/// What a program prints, also as `errors` if they are asked for, and how it ends; no status where it was stopped after so
/// long. It ends with this one. Of a longer text than `most` bytes no more than the first and the last is kept.
///
/// # Errors
/// If it can't be started, or the system can't tell whether it has ended.
pub fn within(
    limit: Duration,
    program: &mut Command,
    most: usize,
    errors: bool,
) -> io::Result<(String, Option<ExitStatus>)> {
    let (mut pipe, out) = io::pipe()?;
    let errors = if errors { out.try_clone()?.into() } else { Stdio::null() };
    let mut child = tied(program.stdin(Stdio::null()).stdout(out).stderr(errors)).spawn()?;
    program.stdout(Stdio::null()).stderr(Stdio::null()); // what it had is the pipe's other end
    let (send, said) = mpsc::channel();
    thread::spawn(move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; 1 << 13]);
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..count]);
            if kept.len() > most {
                kept.drain(most / 3..kept.len() - most / 3);
            }
        }
        // The receiver may have given up: then the reply is not needed.
        let _ = send.send(kept);
    });
    let until = Instant::now() + limit;
    let mut status = child.try_wait()?;
    while status.is_none() && Instant::now() < until {
        thread::sleep(Duration::from_millis(2));
        status = child.try_wait()?;
    }
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    // What the program leaves behind may keep the pipe open.
    let said = said.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    Ok((String::from_utf8_lossy(&said).into_owned(), status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_has_no_answer() {
        assert_eq!(ask("no-such-program-as-this", &[]), None);
    }

    #[test]
    #[cfg(unix)]
    fn only_a_timely_success_is_an_answer() {
        assert_eq!(ask("sh", &["-c", "echo 12.3"]), Some("12.3".to_owned()));
        assert_eq!(ask("sh", &["-c", "echo 12.3; exit 1"]), None);
        let began = Instant::now();
        assert_eq!(ask_within(Duration::from_millis(50), "sleep", &["20"]), None);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
