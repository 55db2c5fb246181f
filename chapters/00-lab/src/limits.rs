//! What the system, or the user, may limit: threads, memory and the length of a file.

use crate::{Error, Result, machine, out};
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::{env, error::Error as _, fmt::Display, fs, panic, process};

/// The most threads for each core. More of them only take memory and each other's time.
const THREADS_PER_CORE: usize = 32;

/// Minds the limits for the whole program; to be called when it starts. Returns a message where they are not what the
/// user asked for.
pub fn mind() -> Option<String> {
    let_large_writes_fail();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `aborted` calls what a handler may.
    unsafe {
        libc::signal(libc::SIGABRT, aborted as *const () as libc::sighandler_t);
    }
    say_refusals();
    let (asked, most) = (asked()?, most());
    (asked > most).then(|| {
        let cores = machine::cores();
        format!("RAYON_NUM_THREADS asks for {asked} threads on {cores} cores; {most} are used")
    })
}

/// Makes a write beyond the limit on the size of files fail with a message, instead of ending the program.
pub fn let_large_writes_fail() {
    #[cfg(unix)]
    // SAFETY: the signal gets no handler of ours; it is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Where memory is refused, the standard library says how much it was and aborts.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
extern "C" fn aborted(_: libc::c_int) {
    let words = b"error: this ends the program; if it had no memory, end other programs, or allow more with ulimit -v\n";
    // SAFETY: system calls; the first is given the length of what it writes.
    unsafe {
        libc::write(2, words.as_ptr().cast(), words.len());
        libc::_exit(1);
    }
}

/// Where the system refuses a thread in the middle of the work, the standard library and Rayon panic, in this crate's code and
/// in others': for a person it is a sentence, and the end.
fn say_refusals() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let words = panic.payload_as_str().unwrap_or_default();
        if words.starts_with("failed to spawn thread")
            || words.starts_with("The global thread pool")
        {
            out::warn(format!("error: {}", no_threads("in the middle of the work")));
            process::exit(1);
        }
        usual(panic);
    }));
}

/// That the system starts no more threads, and what to do.
pub fn no_threads(why: impl Display) -> String {
    format!(
        "the system starts no more threads ({why}); ask for fewer with RAYON_NUM_THREADS=1, end other programs, or allow \
         more with ulimit -u or -v"
    )
}

/// Starts the threads that do the work, unless they are there or the caller has brought some: `number` of them, or as
/// many as `RAYON_NUM_THREADS` asks for within reason, or one for each core.
///
/// # Errors
/// A message that says what to do if the system refuses one.
pub fn start_threads(number: Option<usize>) -> Result<()> {
    if rayon::current_thread_index().is_some() {
        return Ok(());
    }
    let usual = || asked().map_or_else(machine::cores, |asked| asked.min(most()));
    let number = number.unwrap_or_else(usual);
    started(ThreadPoolBuilder::new().num_threads(number).build_global())
}

/// That the threads were there already is no error.
fn started(built: Result<(), ThreadPoolBuildError>) -> Result<()> {
    match built {
        Err(error) if error.source().is_some() => Err(Error::Message(no_threads(error))),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether the system grants so many bytes now. Nothing is written, so it hands out addresses and no memory: this finds
/// limits of the process (`ulimit -v`), and more than the whole machine could hold.
pub fn grants(bytes: u64) -> bool {
    usize::try_from(bytes).is_ok_and(|bytes| {
        let mut asked: Vec<u8> = Vec::new();
        std::hint::black_box(&mut asked).try_reserve_exact(bytes).is_ok()
    })
}

/// Whether the machine has so many bytes left, and the process may have them.
pub fn is_there(bytes: u64) -> bool {
    grants(bytes) && free().is_none_or(|free| bytes <= free)
}

/// Bytes that programs can have before the system must take some from others; unknown beyond Linux.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let bytes = |name: &str| machine::kibibytes(&machine::field(&text, name)?);
    Some(bytes("MemAvailable")? + bytes("SwapFree").unwrap_or(0))
}

/// The most threads that are started.
fn most() -> usize {
    THREADS_PER_CORE * machine::cores()
}

/// How many threads the user asks for.
fn asked() -> Option<usize> {
    number(&env::var("RAYON_NUM_THREADS").ok()?)
}

/// The number in the variable; 0 asks for none in particular, and what is too long for a number is too many.
fn number(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(usize::MAX)).filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_threads_is_read_from_what_anybody_may_write() {
        for none in ["", "0", "all", "-5"] {
            assert_eq!(number(none), None, "{none}");
        }
        for (text, wanted) in [("1", 1), ("65", 65), ("99999999999999999999999", usize::MAX)] {
            assert_eq!(number(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn threads_that_can_not_be_started_get_a_sentence() {
        start_threads(None).unwrap();
        start_threads(Some(2)).unwrap(); // they are there
        let none = ThreadPoolBuilder::new()
            .num_threads(1)
            .spawn_handler(|_| Err(std::io::Error::other("no room")));
        let said = started(none.build().map(|_| ())).unwrap_err().to_string();
        assert!(said.contains("no room") && said.contains("RAYON_NUM_THREADS=1"), "{said}");
    }

    #[test]
    fn more_memory_than_there_are_addresses_is_not_granted() {
        assert!(grants(1 << 20));
        assert!(!grants(1 << 60) && !grants(u64::MAX));
    }
}
