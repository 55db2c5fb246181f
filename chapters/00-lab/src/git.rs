//! Git, asked about one folder and never about another repository.

use crate::probe::answer;
use std::{path::Path, process::Command, time::Duration};

/// What makes git work on another repository than the folder's: hooks, among others, run with some of them set.
const LOCAL: [&str; 19] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The program in this folder. To read, it takes no lock and refreshes nothing.
pub fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    for name in LOCAL {
        git.env_remove(name);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::repository;

    #[test]
    fn no_variable_leads_to_another_repository() {
        let folder = tempfile::tempdir().unwrap();
        let Some(_) = repository(folder.path()) else { return };
        let all = of_top(folder.path(), &["rev-parse", "--local-env-vars"]).unwrap();
        for name in all.lines().chain(["GIT_CEILING_DIRECTORIES"]) {
            let command = git(folder.path());
            assert!(command.get_envs().any(|(n, to)| n == name && to.is_none()), "{name}");
        }
    }
}
