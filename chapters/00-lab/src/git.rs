//! Git, asked about one folder and never about another repository.

use crate::probe::answer;
use std::{env, path::Path, process::Command, time::Duration};

/// The program in this folder. To read, it takes no lock and refreshes nothing.
pub fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    // Some of them, which hooks run with, make git work on another repository than the folder's.
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            git.env_remove(name);
        }
    }
    git.env("GIT_OPTIONAL_LOCKS", "0").arg("-C").arg(folder);
    git
}

/// What git says of this folder, if it is the top of a repository: what lies inside somebody else's has no commit of its own.
pub(crate) fn of_top(folder: &Path, arguments: &[&str]) -> Option<String> {
    let ask = |arguments: &[&str]| answer(Duration::from_secs(5), git(folder).args(arguments));
    let top = ask(&["rev-parse", "--show-toplevel"])?;
    let own = Path::new(&top).canonicalize().ok()? == folder.canonicalize().ok()?;
    own.then(|| ask(arguments))?
}
