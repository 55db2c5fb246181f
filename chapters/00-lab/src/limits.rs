//! What the system, or the person who starts the program, may limit: the threads and the length of a file.

use crate::machine;
use std::env;

/// The most threads for each core. More of them only take memory and each other's time.
const THREADS_PER_CORE: usize = 32;

/// Minds the limits for the whole program; to be called when it starts. Returns a sentence where they are not what the
/// person asked for.
pub fn mind() -> Option<String> {
    // A file that may not grow is then an error of the write, with its sentence, and not the end of the program.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a signal that is ignored calls nothing.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    let most = THREADS_PER_CORE * machine::cores();
    let asked = env::var("RAYON_NUM_THREADS").ok();
    let asked = asked.as_deref().and_then(too_many(most))?;
    // Fails only where the threads are there already.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(most).build_global();
    Some(format!(
        "RAYON_NUM_THREADS asks for {asked} threads on {} cores; {most} are used",
        machine::cores()
    ))
}

/// The number in the variable, if it is larger than `most`.
fn too_many(most: usize) -> impl Fn(&str) -> Option<usize> {
    // What is too long for a number is too many.
    move |text| {
        let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(usize::MAX)).filter(|asked| *asked > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_threads_are_noticed() {
        let too_many = too_many(64);
        for fine in ["", "0", "1", "64", "all", "-5"] {
            assert_eq!(too_many(fine), None, "{fine}");
        }
        assert_eq!(too_many("65"), Some(65));
        assert_eq!(too_many("100000"), Some(100_000));
        assert_eq!(too_many("99999999999999999999999"), Some(usize::MAX));
    }
}
