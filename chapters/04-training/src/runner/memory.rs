//! Whether there is memory for a step, and threads to take it, asked before the first one: on a CPU, who asks for too
//! much in the middle of it is ended by the system without a sentence.

use crate::{Error, Result, config::Model};
use lab::Unit;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::{error::Error as _, fs};

/// Bytes that a CPU needs for each picture of a step at its highest point: activations, their gradients, and what an
/// operation needs beside them. Measured; chapter 5 says where they come from.
pub fn bytes_of_a_picture(model: Model) -> u64 {
    match model {
        Model::Linear => 6_570,
        Model::Mlp => 9_080,
        Model::Cnn => 197_300,
        Model::Resnet => 554_100,
        Model::Rnn => 165_000,
        Model::Transformer => 179_300,
    }
}

/// Refuses a step of so many pictures that there is no memory for it, whether the machine has too little or the process
/// has a limit.
///
/// # Errors
/// [`Error::Config`] that names the option.
pub(crate) fn check(model: Model, pictures: usize) -> Result<()> {
    let bytes = bytes_of_a_picture(model).saturating_mul(pictures as u64);
    let granted = usize::try_from(bytes).is_ok_and(|bytes| {
        // Nothing is written, so the system hands out addresses and no memory.
        let mut asked: Vec<u8> = Vec::new();
        std::hint::black_box(&mut asked).try_reserve_exact(bytes).is_ok()
    });
    if granted && free().is_none_or(|free| bytes <= free) {
        return Ok(());
    }
    Err(Error::Config(format!(
        "a step of {pictures} pictures takes about {} of memory, and there is less; a smaller --batch needs less memory",
        Unit::Bytes.format(bytes as f64)
    )))
}

/// Bytes that programs can have before the system must take some from others; unknown beyond Linux.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(1024 * (kib("MemAvailable:")? + kib("SwapFree:").unwrap_or(0)))
}

/// Starts the threads that share the work, unless the caller has brought some.
///
/// # Errors
/// [`Error::Config`] if the system has no more of them.
pub(crate) fn start_threads() -> Result<()> {
    if rayon::current_thread_index().is_some() {
        return Ok(());
    }
    started(ThreadPoolBuilder::new().build_global())
}

/// That the threads were there already is no error.
fn started(built: Result<(), ThreadPoolBuildError>) -> Result<()> {
    match built {
        Err(error) if error.source().is_some() => Err(Error::Config(format!(
            "the system starts no more threads ({error}); end other programs, or allow more with ulimit -u"
        ))),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_beyond_all_memory_is_refused_and_a_usual_one_is_not() {
        for model in Model::ALL {
            check(model, crate::Settings::of(model).batch).unwrap();
            for batch in [usize::MAX, 1 << 40] {
                let said = check(model, batch).unwrap_err().to_string();
                assert!(said.contains("--batch"), "{said}");
            }
        }
    }

    #[test]
    fn threads_that_cannot_be_started_get_a_sentence() {
        start_threads().unwrap();
        start_threads().unwrap(); // they are there
        let none = ThreadPoolBuilder::new()
            .num_threads(1)
            .spawn_handler(|_| Err(std::io::Error::other("no room")));
        let said = started(none.build().map(|_| ())).unwrap_err().to_string();
        assert!(said.contains("no room") && said.contains("ulimit -u"), "{said}");
    }
}
