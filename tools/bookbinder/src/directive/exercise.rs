//! An exercise on a page: the task, hints that fold out, how to check, and a folded solution.
//!
//! The contents of its folder are in [`crate::exercises`].

use crate::{
    exercises::{folders, readme, stub},
    html,
    page::Flavour,
    text,
};
use anyhow::{Context, Error, Result, anyhow};
use lab::{Chapter, names};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// The folder of the exercise `CHAPTER/NAME`.
///
/// # Errors
/// If there is no such chapter or exercise; the message lists what there is.
pub fn folder(root: &Path, chapters: &[Chapter], which: &str) -> Result<PathBuf> {
    let (chapter, name) = which
        .split_once('/')
        .ok_or_else(|| anyhow!("an exercise is named CHAPTER/NAME, not `{which}`"))?;
    let chapter = lab::chapter::named(chapters, chapter)?;
    let exercises = root.join("chapters").join(chapter.folder()).join("exercises");
    let names = folders(&exercises);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(exercises.join(names[names::named("exercise", name, &names)?]))
}

/// The exercise in `folder` as Markdown, its parts folded for a page.
///
/// # Errors
/// If a file is missing or the README has no title, no hint or no solution.
pub fn markdown(folder: &Path, which: &str, flavour: Flavour) -> Result<String> {
    let read = |name: &str| text::read(&folder.join(name));
    let readme = read("README.md")?;
    let exercise =
        readme::parse(&readme).with_context(|| format!("{}/README.md", folder.display()))?;
    let solution = code(&read("solution.rs")?).context("solution.rs")?;
    let check = format!("cargo run --release -- check {which}");
    let anchor = html::value_anchor(which);
    let mut out = String::new();
    match flavour {
        Flavour::Html => {
            let _ = write!(
                out,
                "<div class=\"exercise\">\n\n### Exercise: {} {{#exercise-{anchor}}}\n\n{}\n\n{}\n\n\
                 Your file is `chapters/{}/exercise.rs`; it is there as soon as you run this, which says whether it \
                 passes:\n\n```console\n{check}\n```\n\n",
                exercise.title,
                exercise.effort,
                exercise.task,
                below_chapters(folder),
            );
            for (number, text) in (1..).zip(&exercise.hints) {
                let _ = write!(
                    out,
                    "<details><summary>Hint {number}</summary>\n\n{text}\n\n</details>\n\n"
                );
            }
            let _ = write!(
                out,
                "<details class=\"solution\"><summary>Solution</summary>\n\n{}\n\n```rust\n{solution}\n\
                 ```\n\n</details>\n\n</div>\n",
                exercise.solution
            );
        }
        Flavour::Notebook => {
            let _ = write!(
                out,
                "### Exercise: {}\n\n{}\n\n{}\n\nYour file is `chapters/{}/exercise.rs`; it is there as soon as you run \
                 the cell below the hints, which says whether it passes, as `{check}` does in a terminal.\n",
                exercise.title,
                exercise.effort,
                exercise.task,
                below_chapters(folder),
            );
            for (number, text) in (1..).zip(&exercise.hints) {
                let _ = write!(
                    out,
                    "\n<details><summary>Hint {number}</summary>\n\n{text}\n\n</details>\n"
                );
            }
            // A run of all cells does not wait for tests of code that is yet to be written.
            let _ = write!(
                out,
                "\n```rust,cell,asked\nstd::process::Command::new(\"cargo\")\n    \
                 .args([\"run\", \"-qr\", \"--\", \"check\", \"{which}\"])\n    .status()?;\n```\n"
            );
        }
    }
    Ok(out)
}

/// The folder from `chapters` on, with `/` on every system.
fn below_chapters(folder: &Path) -> String {
    let parts: Vec<String> =
        folder.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let at = parts.iter().rposition(|part| part == "chapters").map_or(0, |at| at + 1);
    parts[at..].join("/")
}

/// The solution without the file's own heading and the part to work on.
fn code(text: &str) -> Result<String> {
    let shown = |(_, place, line): &(usize, stub::Place, &str)| {
        let mark = line.contains(stub::BEGIN) || line.contains(stub::END);
        !matches!(place, stub::Place::Stub(_)) && !mark && !line.trim_start().starts_with("//!")
    };
    let lines = stub::lines(text).map_err(Error::msg)?;
    let lines: Vec<&str> = lines.into_iter().filter(shown).map(|(_, _, line)| line).collect();
    Ok(lines.join("\n").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const README: &str = "# Add\n\n5 minutes · level 1 of 3\n\nAdd two numbers.\n\n## Hint 1\n\nUse `+`.\n\n## Solution\n\nThat is all.\n";

    #[test]
    fn a_box_has_task_hints_command_and_solution() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("chapters/01-demo/exercises/add");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("README.md"), README).unwrap();
        let solution = "//! Head.\n\nfn add() {\n    // EXERCISE: begin\n    1;\n    // EXERCISE: instead\n    // 2;\n    // EXERCISE: end\n}\n";
        fs::write(folder.join("solution.rs"), solution).unwrap();
        let page = markdown(&folder, "demo/add", Flavour::Html).unwrap();
        for part in [
            "### Exercise: Add {#exercise-demo-add}",
            "5 minutes · level 1 of 3\n\nAdd two numbers.",
            "<summary>Hint 1</summary>\n\nUse `+`.",
            "cargo run --release -- check demo/add",
            "`chapters/01-demo/exercises/add/exercise.rs`",
            "```rust\nfn add() {\n    1;\n}\n```",
        ] {
            assert!(page.contains(part), "{part}\n--\n{page}");
        }
        let notebook = markdown(&folder, "demo/add", Flavour::Notebook).unwrap();
        assert!(
            !notebook.contains("fn add"),
            "a notebook does not give the solution away: {notebook}"
        );
        for part in
            ["<summary>Hint 1</summary>\n\nUse `+`.", "```rust,cell,asked\n", "\"demo/add\"])"]
        {
            assert!(notebook.contains(part), "{part}\n--\n{notebook}");
        }
        fs::remove_file(folder.join("solution.rs")).unwrap();
        assert!(markdown(&folder, "demo/add", Flavour::Html).is_err());
    }

    #[test]
    fn an_unknown_exercise_names_those_that_exist() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("chapters/01-demo/exercises/add")).unwrap();
        let chapters = [Chapter {
            number: 1,
            name: "demo",
            title: "Demo",
            experiments: vec![],
            figures: vec![],
            tables: vec![],
        }];
        let error = folder(root.path(), &chapters, "demo/sub").unwrap_err().to_string();
        assert!(error.contains("add"), "{error}");
        assert!(folder(root.path(), &chapters, "add").is_err());
        assert!(folder(root.path(), &chapters, "other/add").is_err());
    }
}
