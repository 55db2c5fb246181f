//! An exercise's README: `# Title`, then the line `10 minutes · level 1 of 3`, the task, `## Hint 1` …, `## Solution`.

use anyhow::{Context, Result, bail};

/// A README in its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Readme {
    /// The title.
    pub title: String,
    /// How long it takes and how hard it is: `10 minutes · level 1 of 3`.
    pub effort: String,
    /// What to do, as Markdown.
    pub task: String,
    /// The hints, from the gentlest on.
    pub hints: Vec<String>,
    /// The explanation of the solution.
    pub solution: String,
}

/// Takes a README apart.
///
/// # Errors
/// If it is not as this module requires.
pub fn parse(text: &str) -> Result<Readme> {
    let rest = text.trim_start().strip_prefix("# ").context("it does not start with `# Title`")?;
    let (title, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut parts = rest.split("\n## ");
    let body = parts.next().unwrap_or_default().trim();
    let (effort, task) = body.split_once('\n').unwrap_or((body, ""));
    if !effort.contains("minutes") {
        bail!("its second line does not give the minutes it takes: `10 minutes · level 1 of 3`");
    }
    let (mut hints, mut solution) = (Vec::new(), None);
    for part in parts {
        let (head, text) = part.split_once('\n').unwrap_or((part, ""));
        match head.trim() {
            "Solution" => solution = Some(text.trim().to_owned()),
            head if head.starts_with("Hint") => hints.push(text.trim().to_owned()),
            head => bail!("`## {head}` is neither a hint nor the solution"),
        }
    }
    if task.trim().is_empty() || hints.is_empty() {
        bail!("it has no task or no `## Hint 1`");
    }
    let solution = solution.context("it has no `## Solution`")?;
    let (title, task) = (title.trim().to_owned(), task.trim().to_owned());
    Ok(Readme { title, effort: effort.trim().to_owned(), task, hints, solution })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readmes_are_read_and_wrong_ones_refused() {
        let right = "# Add\n\n10 minutes · level 1 of 3\n\nDo it.\n\nWell.\n\n## Hint 1\n\nUse `+`.\n\n## Hint 2\n\nOh.\n\n## Solution\n\nSo.\n";
        let readme = parse(right).unwrap();
        let wanted = Readme {
            title: "Add".to_owned(),
            effort: "10 minutes · level 1 of 3".to_owned(),
            task: "Do it.\n\nWell.".to_owned(),
            hints: ["Use `+`.", "Oh."].map(str::to_owned).into(),
            solution: "So.".to_owned(),
        };
        assert_eq!(readme, wanted);
        for (from, to) in [
            ("# Add", "Add"),
            ("10 minutes · level 1 of 3", "Quick."),
            ("Do it.\n\nWell.", ""),
            ("## Hint 1", "## Help 1"),
            ("## Solution", "## Hint 3"),
        ] {
            assert!(parse(&right.replace(from, to)).is_err(), "{from} → {to}");
        }
    }
}
