//! Asking other programs about the machine, without ever waiting long for a reply.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::{io, process};
use std::{
    io::Read as _,
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
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
        let here = process::id();
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
    let (text, status) = within(patience, program)?;
    status?.success().then(|| text.trim().to_owned())
}

/// What a program prints and how it ends; no status where it was stopped after so long. Nothing if it does not start.
pub fn within(limit: Duration, program: &mut Command) -> Option<(String, Option<ExitStatus>)> {
    let program = program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = tied(program).spawn().ok()?;
    let mut pipe = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A program that prints without end must not fill the memory.
        let read = pipe.by_ref().take(1 << 20).read_to_end(&mut bytes);
        // The receiver may have given up: then the reply is not needed.
        let _ = send.send(read.map(|_| bytes));
    });
    let mut read = receive.recv_timeout(limit);
    let late = read.is_err();
    if late {
        let _ = child.kill();
        read = receive.recv_timeout(LAST_WORDS);
    }
    let status = child.wait().ok()?;
    let bytes = read.ok().and_then(Result::ok).unwrap_or_default();
    Some((String::from_utf8_lossy(&bytes).into_owned(), (!late).then_some(status)))
}

/// How long it may take to read what a program had printed that was stopped: its children may keep the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

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
