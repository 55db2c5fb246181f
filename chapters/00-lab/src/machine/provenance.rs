//! Which build made a record, when, and how.

use crate::{files::quoted, git, names::variable, out::warn};
use std::{env, path::Path, sync::OnceLock, time::SystemTime};

/// Which build ran, when, and how: what every run in the records carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The command that repeats the run.
    pub command: String,
    /// Now, in UTC (RFC 3339).
    pub date: String,
    /// The commit of the course, with `+` behind it if files were changed; `unknown` outside a checkout.
    pub commit: String,
    /// The compiler's version.
    pub rustc: String,
    /// The profile, the optimisation level, the target and the compiler flags.
    pub flags: String,
}

impl Provenance {
    /// Of this process, at this moment.
    pub fn now() -> Self {
        static COMMIT: OnceLock<String> = OnceLock::new();
        Self {
            command: command_line(
                BUILT.get().map(|features| (env!("LAB_FLAGS"), *features)),
                &|name| variable(name).map(|value| value.to_string_lossy().into_owned()),
                // A folder's name need not be text.
                env::args_os().map(|word| word.to_string_lossy().into_owned()),
            ),
            date: rfc3339(SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())),
            commit: COMMIT
                .get_or_init(|| commit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")))
                .clone(),
            rustc: env!("LAB_RUSTC").to_owned(),
            flags: env!("LAB_FLAGS").to_owned(),
        }
    }
}

/// The features that the course's own command was built with. Another program has said nothing.
static BUILT: OnceLock<&[&str]> = OnceLock::new();

/// Says that this program is the course's own command, whatever its file is called, built with these features.
pub fn is_the_command(features: &'static [&'static str]) {
    let _ = BUILT.set(features);
}

/// Whether a build with these [`Provenance::flags`] computes more slowly than the course's own: its numbers are no records.
/// Old records, whose flags name no level, are of a `release` build or of one without optimisation.
pub fn is_unoptimised(flags: &str) -> bool {
    let level = flags.split_once("opt-level=").map(|(_, level)| level);
    level.map_or(!flags.starts_with("release"), |level| !level.starts_with(['2', '3']))
}

/// Says on standard error that this program was built without optimisation, if it was.
pub fn warn_if_unoptimised() {
    if is_unoptimised(env!("LAB_FLAGS")) {
        warn(format!(
            "note: this build is not optimised ({}): its times are not those of the course, and its records can't be sent \
             in; plain `cargo run`, without CARGO_PROFILE_… in the environment, makes the other",
            env!("LAB_FLAGS")
        ));
    }
}

/// What numbers depend on besides the command's words.
pub(crate) const VARIABLES: [&str; 4] =
    ["THROUGHPUT_DEVICE", "THROUGHPUT_OPENCL", "RAYON_NUM_THREADS", "MNIST_DIR"];

/// The course's own command, built like this (its flags and features), as a reader types it, with the [`VARIABLES`] that are
/// set; of any other program the name and the arguments. Where files lie is the reader's own business.
fn command_line(
    built: Option<(&str, &[&str])>,
    variable: &dyn Fn(&str) -> Option<String>,
    arguments: impl IntoIterator<Item = String>,
) -> String {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let placed = |word: String| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (format!("{name}="), value),
            None => (String::new(), word.as_str()),
        };
        let away = Path::new(value).is_absolute() || value.starts_with(['~', '\\']);
        quoted(&if away { format!("{name}PATH") } else { word })
    };
    let mut words = Vec::new();
    if let Some((flags, features)) = built {
        let set =
            VARIABLES.iter().filter_map(|name| Some(format!("{name}={}", placed(variable(name)?))));
        words.extend(set);
        words.push("cargo run".to_owned());
        words.extend(flags.starts_with("release").then(|| "--release".to_owned()));
        if !features.is_empty() {
            words.push(format!("--features {}", features.join(",")));
        }
        words.push("--".to_owned());
    } else {
        let stem = Path::new(&program).file_stem();
        words.push(stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()));
    }
    words.extend(arguments.map(placed));
    words.join(" ")
}

/// Names the commit of a program that was built on another machine.
const COMMIT_CARRIED: &str = "THROUGHPUT_COMMIT";

/// The commit that [`COMMIT_CARRIED`] names, if it is one.
fn carried(said: Option<String>) -> Option<String> {
    said.filter(|said| {
        let digits = said.strip_suffix('+').unwrap_or(said);
        (7..=40).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The carried commit, else the short one of the checkout that `folder` is the top of. Records and notebooks, which measuring
/// itself writes, do not make it a changed one.
fn commit(folder: &Path) -> String {
    // A checkout that lies where this program was built elsewhere may be of another commit.
    if let Some(commit) = carried(env::var(COMMIT_CARRIED).ok()) {
        return commit;
    }
    let git = |arguments: &[&str]| git::of_top(folder, arguments);
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let rest = [":(top)", ":(top,exclude)book/records", ":(top,exclude)notebooks"];
    let changed =
        git(&[&["status", "--porcelain", "--untracked-files=no", "--"], &rest[..]].concat());
    if changed.is_some_and(|files| files.is_empty()) { commit } else { format!("{commit}+") }
}

/// Seconds since 1970 as `2026-01-31T23:59:59Z` (Hinnant, "chrono-compatible low-level date algorithms",
/// `civil_from_days`).
fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{put, repository};
    use std::fs;

    #[test]
    fn dates_are_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_704_067_199), "2023-12-31T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let line = |built, set: &[(&str, &str)], words: &[&str]| {
            let of = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
            command_line(built, &of, words.iter().map(ToString::to_string))
        };
        let release = "release, opt-level=3, x86_64-unknown-linux-gnu";
        let words = ["/home/me/bin/tp2", "measure", "lab", "--data", "my files"];
        assert_eq!(
            line(Some((release, &[])), &[("HOME", "/home/me")], &words),
            "cargo run --release -- measure lab --data 'my files'"
        );
        let set = [
            ("THROUGHPUT_DEVICE", "cuda:0"),
            ("RAYON_NUM_THREADS", "2 3"),
            ("MNIST_DIR", "/home/me/mnist"),
        ];
        let words = ["x", "measure", "--records", "/home/me/r", "--peers=/opt/me/python"];
        assert_eq!(
            line(Some(("dev, opt-level=1", &["cuda", "mpi"])), &set, &words),
            "THROUGHPUT_DEVICE=cuda:0 RAYON_NUM_THREADS='2 3' MNIST_DIR=PATH cargo run --features cuda,mpi -- measure --records PATH \
             --peers=PATH"
        );
        assert_eq!(line(None, &set, &["/x/bench", "it's", ""]), "bench 'it'\\''s' ''");
        assert_eq!(line(None, &[], &[]), "");
    }

    #[test]
    fn the_level_tells_whether_a_build_is_optimised() {
        for flags in [
            "release, opt-level=3, x86_64 -C target-cpu=native",
            "dev, opt-level=3, x86_64",
            "release",
        ] {
            assert!(!is_unoptimised(flags), "{flags}");
        }
        for flags in
            ["dev, opt-level=1, x86_64", "release, opt-level=0", "release, opt-level=s", "dev"]
        {
            assert!(is_unoptimised(flags), "{flags}");
        }
        assert!(!is_unoptimised(env!("LAB_FLAGS")), "the tests' own build is the course's");
    }

    #[test]
    fn a_carried_program_is_told_its_commit() {
        for (said, wanted) in [
            (None, None),
            (Some("82ecf3d"), Some("82ecf3d")),
            (Some("82ecf3d+"), Some("82ecf3d+")),
            (Some("main"), None),
            (Some(""), None),
            (Some("82ecf3d; rm"), None),
        ] {
            assert_eq!(carried(said.map(str::to_owned)).as_deref(), wanted);
        }
    }

    #[test]
    fn a_folder_outside_a_checkout_has_no_commit_and_a_changed_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(commit(folder.path()), "unknown");
        let Some(git) = repository(folder.path()) else { return };
        fs::write(folder.path().join("a"), "1").unwrap();
        put(folder.path(), "book/records/b", "1");
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "a"]);
        // Unpacked inside a repository of something else, it has no commit.
        assert_eq!(commit(&folder.path().join("book")), "unknown");
        let clean = commit(folder.path());
        assert!(clean.len() >= 4 && !clean.ends_with('+'), "{clean}");
        fs::write(folder.path().join("book/records/b"), "2").unwrap();
        assert_eq!(commit(folder.path()), clean);
        fs::write(folder.path().join("a"), "2").unwrap();
        assert_eq!(commit(folder.path()), format!("{clean}+"));
    }
}
