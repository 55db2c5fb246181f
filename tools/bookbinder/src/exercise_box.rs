//! An exercise on a page: the task, hints that fold out, how to check, and a folded solution.
//!
//! `chapters/NN-name/exercises/NAME/` holds `README.md` (`# Title`, the task, `## Hint 1` …,
//! `## Solution`), `exercise.rs`, `solution.rs` and `test.rs`.

use crate::{expand::Flavour, quote};
use anyhow::{Context, Result, anyhow, bail};
use lab::Chapter;
use std::{
    fmt::Write as _,
    fs,
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
    let exercises = root.join("chapters").join(quote::folder(chapter)).join("exercises");
    let folder = exercises.join(name);
    if !folder.join("README.md").is_file() {
        let mut names: Vec<String> = fs::read_dir(&exercises)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        bail!("there is no exercise `{which}`; {} has {}", chapter.name, names.join(", "));
    }
    Ok(folder)
}

/// The exercise in `folder` as Markdown, its parts folded for a page.
///
/// # Errors
/// If a file is missing or the README has no title, no hint or no solution.
pub fn markdown(folder: &Path, which: &str, flavour: Flavour) -> Result<String> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file).with_context(|| format!("can't read {}", file.display()))
    };
    let readme = read("README.md")?;
    let exercise = parse(&readme).with_context(|| format!("{}/README.md", folder.display()))?;
    let solution = code(&read("solution.rs")?);
    let check = format!("cargo run --release -- check {which}");
    let anchor = crate::html::value_anchor(which);
    let mut out = String::new();
    match flavour {
        Flavour::Html => {
            let _ = write!(
                out,
                "<div class=\"exercise\">\n\n### Exercise: {} {{#exercise-{anchor}}}\n\n{}\n\n\
                 Your file is `chapters/{}/exercise.rs`. To see whether it passes:\n\n\
                 ```console\n{check}\n```\n\n",
                exercise.title,
                exercise.task,
                below_chapters(folder),
            );
            for (title, text) in &exercise.hints {
                let _ =
                    write!(out, "<details><summary>{title}</summary>\n\n{text}\n\n</details>\n\n");
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
                "### Exercise: {}\n\n{}\n\nYour file is `chapters/{}/exercise.rs`. Save it, then run the cell \
                 below the hints, which does what `{check}` does in a terminal.\n",
                exercise.title,
                exercise.task,
                below_chapters(folder),
            );
            for (title, text) in &exercise.hints {
                let _ =
                    write!(out, "\n<details><summary>{title}</summary>\n\n{text}\n\n</details>\n");
            }
            // Whoever runs all cells of a notebook does not wait for tests of what is yet to be written.
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

/// An exercise's README in its parts.
struct Exercise {
    title: String,
    task: String,
    hints: Vec<(String, String)>,
    solution: String,
}

fn parse(readme: &str) -> Result<Exercise> {
    let rest = readme.trim_start().strip_prefix("# ").context("it starts with `# Title`")?;
    let (title, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut parts = rest.split("\n## ");
    let task = parts.next().unwrap_or("").trim().to_owned();
    let (mut hints, mut solution) = (Vec::new(), None);
    for part in parts {
        let (head, text) = part.split_once('\n').unwrap_or((part, ""));
        let (head, text) = (head.trim(), text.trim().to_owned());
        if head == "Solution" {
            solution = Some(text);
        } else if head.starts_with("Hint") {
            hints.push((head.to_owned(), text));
        } else {
            bail!("`## {head}` is neither a hint nor the solution");
        }
    }
    if task.is_empty() || hints.is_empty() {
        bail!("it has a task and at least one `## Hint`");
    }
    let solution = solution.context("it has `## Solution`")?;
    Ok(Exercise { title: title.trim().to_owned(), task, hints, solution })
}

/// The solution without the file's own heading and the marks of the part to work on.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//!"))
        .filter(|line| !line.contains("// EXERCISE:"))
        .collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str =
        "# Add\n\nAdd two numbers.\n\n## Hint 1\n\nUse `+`.\n\n## Solution\n\nThat is all.\n";

    #[test]
    fn a_box_has_task_hints_command_and_solution() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("chapters/01-demo/exercises/add");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("README.md"), README).unwrap();
        let solution = "//! Head.\n\nfn add() {\n    // EXERCISE: begin\n    1;\n}\n";
        fs::write(folder.join("solution.rs"), solution).unwrap();
        let page = markdown(&folder, "demo/add", Flavour::Html).unwrap();
        for part in [
            "### Exercise: Add {#exercise-demo-add}",
            "Add two numbers.",
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
    fn a_readme_without_its_parts_is_refused() {
        for wrong in [
            "Add",
            "# Add\n\n## Hint 1\n\na\n\n## Solution\n",
            "# Add\n\nTask.\n\n## Solution\n",
            "# Add\n\nTask.\n\n## Hint 1\n\na\n",
            "# Add\n\nTask.\n\n## Hint 1\n\na\n\n## Else\n\n## Solution\n",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse(README).is_ok());
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
