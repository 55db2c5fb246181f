//! What a test needs and a machine may lack: one way to ask for it, to go without, and to say so.
//!
//! Each skip is noted in a file of the build's folder, one for each run of `cargo test`. Every program that skipped something
//! says at its end what was skipped up to then; the last of the course says it in any case.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::c_int,
    fmt::Display,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Once,
    thread,
};

crate::named! {
    /// What some tests need beside Rust and a C compiler. The variant is the name in `THROUGHPUT_REQUIRE_NAME`.
    pub enum Tool("tool") {
        /// A device behind OpenCL.
        OpenCl = "an OpenCL device",
        /// An NVIDIA GPU that CUDA can use.
        Cuda = "an NVIDIA GPU",
        /// NVIDIA's library of products.
        Cublas = "cuBLAS",
        /// NVIDIA's library for several GPUs.
        Nccl = "NCCL",
        /// NVIDIA's compiler as a library, for all generations of GPUs that the tests compile for.
        Nvrtc = "NVRTC 12.8",
        /// The same as a program.
        Nvcc = "nvcc 12.8",
        /// What prints machine code of NVIDIA's GPUs.
        Nvdisasm = "nvdisasm 12.8",
        /// A C++ compiler.
        Cxx = "a C++17 compiler",
        /// Open MPI's mpirun.
        Mpi = "Open MPI",
        /// Node.js, new enough for the pages' scripts.
        Node = "Node.js 18",
        /// Git.
        Git = "git",
        /// GNU's objdump.
        Objdump = "GNU objdump",
        /// The program xz.
        Xz = "xz",
        /// The published MNIST files.
        Mnist = "the MNIST files",
        /// A Python with PyTorch.
        Torch = "PyTorch",
        /// A system, a user or an architecture of another kind.
        System = "another system or user",
    }
}

/// What a test needs, if it was found. Else the test is skipped, which is noted; `THROUGHPUT_REQUIRE_…=1` forbids that. A tool
/// that is too old or of another kind was not found.
///
/// # Panics
/// If the tool is required, or `tests/skips.txt` does not say that this test needs it.
pub fn need<T>(tool: Tool, found: Result<T, impl Display>) -> Option<T> {
    let why = match found {
        Ok(found) => return Some(found),
        Err(why) => why.to_string(),
    };
    let (name, words) = (format!("{tool:?}").to_uppercase(), tool.name());
    let required = format!("THROUGHPUT_REQUIRE_{name}");
    let forbidden = env::var_os(&required).is_some_and(|value| value == "1");
    assert!(!forbidden, "the test needs {words}, and {required}=1 forbids to skip it: {why}");
    eprintln!("skipped: it needs {words}: {why}");
    // Cargo names the package; a program that somebody starts by hand has no run to report to.
    if let Ok(package) = env::var("CARGO_PKG_NAME") {
        let skip = Skip::here((&name, words), &package, &why);
        let listed = fs::read_to_string(list()).unwrap_or_default();
        assert!(
            listed.lines().any(|line| line == skip.key()),
            "`{}` is missing in tests/skips.txt, the list of all tests that may be skipped, and for want of what",
            skip.key()
        );
        skip.note();
    }
    None
}

/// The list of tests that may be skipped.
fn list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/skips.txt")
}

/// A test that was skipped, as a line of the run's notes.
struct Skip(Vec<String>);

impl Skip {
    /// The test that this thread runs.
    fn here((tool, words): (&str, &str), package: &str, why: &str) -> Self {
        let program = env::current_exe().unwrap_or_default();
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        let target = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
        let thread = thread::current();
        let folder = env::current_dir().unwrap_or_default();
        let parts = [
            tool,
            package,
            target,
            thread.name().unwrap_or_default(),
            words,
            &program.to_string_lossy(),
            &folder.to_string_lossy(),
            why,
        ];
        Self(parts.map(|part| part.replace(['\t', '\n', '\r'], " ")).into())
    }

    /// Tool, package, program and test, as the list has them.
    fn key(&self) -> String {
        self.0[..4].join(" ")
    }

    fn note(&self) {
        // A folder that can't be written costs the summary and nothing else.
        let _ = file().map(|file| {
            let mut notes = File::options().create(true).append(true).open(file)?;
            notes.write_all((self.0.join("\t") + "\n").as_bytes())
        });
        tell_at_end();
    }
}

/// The file with the notes of this run, beside the programs. What started this one, Cargo, is the run; the system tells when
/// it began, since the numbers of processes come again.
fn file() -> Option<PathBuf> {
    #[cfg(unix)]
    let id = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let id = std::process::id();
    let facts = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let began = facts.rsplit(')').next().and_then(|rest| rest.split(' ').nth(20));
    let program = env::current_exe().ok()?;
    let folder = program.parent()?.parent()?.join("skipped-tests");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join(format!("{id}-{}", began.unwrap_or_default())))
}

/// One line about these notes.
fn summary(notes: &str) -> String {
    let (mut tests, mut tools) = (BTreeSet::new(), BTreeMap::new());
    for note in notes.lines() {
        let parts: Vec<&str> = note.split('\t').collect();
        let [_, package, target, test, words, _, _, why] = parts[..] else { continue };
        tests.insert((package, target, test));
        // The way out comes behind the reason, and is the doctor's to tell here.
        let why = why.split([';', '(']).next().unwrap_or_default().trim();
        let (of, _) = tools.entry(words).or_insert_with(|| (BTreeSet::new(), why));
        of.insert((package, target, test));
    }
    if tests.is_empty() {
        return "skipped tests: 0".to_owned();
    }
    let each = tools.iter().map(|(words, (of, why))| format!("{words}: {} ({why})", of.len()));
    let each: Vec<String> = each.collect();
    format!("skipped tests: {}, for want of {}", tests.len(), each.join(", "))
}

/// Has this program say at its end what the run has skipped up to then: past the test harness, which shows no word of a test
/// that passes.
pub fn tell_at_end() {
    static ONCE: Once = Once::new();
    extern "C" fn tell() {
        let notes = file().and_then(|file| fs::read_to_string(file).ok());
        let _ = writeln!(io::stderr(), "{}\n", summary(&notes.unwrap_or_default()));
    }
    unsafe extern "C" {
        fn atexit(call: extern "C" fn()) -> c_int;
    }
    ONCE.call_once(|| {
        // SAFETY: the C library's own function; what it will call neither unwinds nor needs what is gone by then.
        unsafe { atexit(tell) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_each_test_once_and_says_what_for() {
        let note = |test: &str, words: &str, why: &str| {
            format!("X\tlab\tit\t{test}\t{words}\t/p\t/f\t{why}\n")
        };
        let notes =
            note("a", "Node.js", "v12") + &note("b", "Node.js", "v12") + &note("b", "git", "none");
        let said = "skipped tests: 2, for want of Node.js: 2 (v12), git: 1 (none)";
        assert_eq!(summary(&notes), said);
        assert_eq!(summary(""), "skipped tests: 0");
    }

    #[test]
    fn a_test_that_is_not_listed_may_not_be_skipped() {
        let unlisted = || need::<()>(Tool::System, Err("it is a test"));
        assert!(
            env::var_os("CARGO_PKG_NAME").is_none() || std::panic::catch_unwind(unlisted).is_err()
        );
        assert_eq!(need(Tool::System, Ok::<_, String>(1)), Some(1));
    }
}
