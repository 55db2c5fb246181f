//! What the chapters build on and what they take: `{{#map needs}}`, `{{#map times}}` and, in a sentence, the
//! hours that reading and exercises take in all, `{{#map hours}}` and `{{#map practice}}`.
//!
//! Nothing here is typed: which crate uses which is in their manifests, how long a page takes to read is
//! counted (see [`crate::markdown::reading_minutes`]), and what else a chapter takes is the note on its
//! opener.

use crate::{exercises, html, manifest, picture, text};
use anyhow::{Context, Result};
use lab::Chapter;
use std::{collections::BTreeSet, fmt::Write as _, path::Path};

/// A chapter's box.
const WIDTH: f64 = 210.0;
const HEIGHT: f64 = 64.0;
/// From a box to the next one to its right, and below it.
const COLUMN: f64 = 236.0;
const ROW: f64 = 112.0;

/// For each chapter, which of the chapters its crate uses, by their indices in `chapters`.
///
/// # Errors
/// If a manifest can't be read.
pub fn needs(root: &Path, chapters: &[Chapter]) -> Result<Vec<BTreeSet<usize>>> {
    let of = |chapter: &Chapter| -> Result<BTreeSet<usize>> {
        let file = root.join("chapters").join(chapter.folder()).join("Cargo.toml");
        let text = text::read(&file)?;
        let used = manifest::dependencies(&text);
        let place = |name: &String| chapters.iter().position(|chapter| chapter.name == *name);
        Ok(used.iter().filter_map(place).collect())
    };
    chapters.iter().map(of).collect()
}

/// `needs` without what follows from the rest: if 3 uses 2 and 2 uses 1, that 3 uses 1 need not be shown.
fn direct(needs: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    fn reaches(needs: &[BTreeSet<usize>], from: usize, to: usize) -> bool {
        needs[from].iter().any(|&next| next == to || reaches(needs, next, to))
    }
    needs
        .iter()
        .map(|all| {
            let other = |&one: &usize| all.iter().any(|&via| reaches(needs, via, one));
            all.iter().copied().filter(|one| !other(one)).collect()
        })
        .collect()
}

/// Where the boxes are: the row is the longest way down to a chapter, the column is below what it needs.
fn places(needs: &[BTreeSet<usize>]) -> Vec<(f64, usize)> {
    let mut places: Vec<(f64, usize)> = Vec::new();
    for all in needs {
        let row = all.iter().map(|&one| places[one].1 + 1).max().unwrap_or(0);
        let sum: f64 = all.iter().map(|&one| places[one].0).sum();
        places.push((if all.is_empty() { 1.0 } else { sum / all.len() as f64 }, row));
        // Those of one row share the room around what they build on.
        let mut here: Vec<usize> = (0..places.len()).filter(|&at| places[at].1 == row).collect();
        let wish = |at: &usize| {
            let all = &needs[*at];
            if all.is_empty() {
                1.0
            } else {
                all.iter().map(|&one| places[one].0).sum::<f64>() / all.len() as f64
            }
        };
        let wishes: Vec<(usize, f64)> = here.iter().map(|at| (*at, wish(at))).collect();
        let of = |at: usize| wishes.iter().find(|(one, _)| *one == at).map_or(1.0, |(_, w)| *w);
        here.sort_by(|a, b| of(*a).total_cmp(&of(*b)));
        let middle = wishes.iter().map(|(_, wish)| wish).sum::<f64>() / wishes.len() as f64;
        let half = (here.len() - 1) as f64 / 2.0;
        let first = (middle - half).clamp(0.0, (2.0 - 2.0 * half).max(0.0));
        for (column, at) in here.into_iter().enumerate() {
            places[at].0 = first + column as f64;
        }
    }
    places
}

/// The drawing: a box for each chapter, and a line from what it uses.
///
/// # Errors
/// As [`needs`].
pub fn svg(root: &Path, chapters: &[Chapter], up: &str) -> Result<String> {
    let needs = direct(&needs(root, chapters)?);
    let places = places(&needs);
    let columns = places.iter().map(|(column, _)| *column).fold(0.0, f64::max);
    let rows = places.iter().map(|(_, row)| *row).max().unwrap_or(0);
    let (width, height) = (columns * COLUMN + WIDTH + 20.0, rows as f64 * ROW + HEIGHT + 20.0);
    let corner = |at: usize| (10.0 + places[at].0 * COLUMN, 10.0 + places[at].1 as f64 * ROW);
    let mut out = format!(
        "<div class=\"route needs\"><svg viewBox=\"0 0 {width} {height}\" role=\"group\" \
         aria-label=\"Which chapter builds on which\"><g aria-hidden=\"true\">"
    );
    for (to, all) in needs.iter().enumerate() {
        for &from in all {
            let ((x0, y0), (x1, y1)) = (corner(from), corner(to));
            let (x0, y0, x1) = (x0 + WIDTH / 2.0, y0 + HEIGHT, x1 + WIDTH / 2.0);
            let bend = (ROW - HEIGHT) * 0.9;
            let _ = write!(
                out,
                "<path class=\"need\" d=\"M{x0} {y0} C{x0} {} {x1} {} {x1} {y1}\"/><path class=\"tip\" \
                 d=\"M{x1} {y1} l-6 -10 h12 z\"/>",
                y0 + bend,
                y1 - bend,
            );
        }
    }
    out.push_str("</g>");
    for (at, chapter) in chapters.iter().enumerate() {
        let (x, y) = corner(at);
        let words = format!("{}. {}", chapter.number, chapter.title);
        let lines = picture::lines(&words, 22);
        let _ = write!(
            out,
            "<a href=\"{up}{}/index.html\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" \
             width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>",
            chapter.folder(),
            html::text(&sentence(at, &needs, chapters)),
        );
        for (line, words) in lines.iter().enumerate() {
            let _ = write!(
                out,
                "<text x=\"{}\" y=\"{}\">{}</text>",
                x + WIDTH / 2.0,
                y + HEIGHT / 2.0 + 6.0 + 22.0 * (line as f64 - (lines.len() - 1) as f64 / 2.0),
                html::text(words)
            );
        }
        out.push_str("</a>");
    }
    out.push_str("</svg>");
    // On a narrow screen, where the boxes have no room side by side.
    out.push_str("<ol class=\"stops\">");
    for (at, chapter) in chapters.iter().enumerate() {
        let words = sentence(at, &needs, chapters);
        let (name, needs) = words.rsplit_once(": ").unwrap_or((words.as_str(), ""));
        let _ = write!(
            out,
            "<li><a href=\"{up}{}/index.html\">{}</a>: {}</li>",
            chapter.folder(),
            html::text(name),
            html::text(needs),
        );
    }
    out.push_str("</ol></div>");
    Ok(out)
}

/// What a chapter builds on, in words.
fn sentence(at: usize, needs: &[BTreeSet<usize>], chapters: &[Chapter]) -> String {
    let numbers: Vec<String> =
        needs[at].iter().map(|&one| chapters[one].number.to_string()).collect();
    let chapter = &chapters[at];
    match numbers.as_slice() {
        [] => format!("Chapter {}, {}: it builds on no other", chapter.number, chapter.title),
        _ => format!(
            "Chapter {}, {}: it builds on {}",
            chapter.number,
            chapter.title,
            numbers.join(" and ")
        ),
    }
}

/// The placeholder for the minutes that pages and chapters take, until all pages are expanded: `names` are their paths
/// with a space between them.
pub fn minutes_mark(names: &str) -> String {
    format!("{MINUTES}{names}{END}")
}

const MINUTES: &str = "<!-- minutes ";
const END: &str = " -->";

/// The first mark of a text (see [`minutes_mark`]): the text before it, its names, the text after it.
pub fn minutes_asked(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(MINUTES)?;
    let (names, after) = rest.split_once(END)?;
    Some((before, names, after))
}

/// The hours that all exercises take, by their READMEs.
///
/// # Errors
/// If one can't be read or gives no minutes.
pub fn practice(root: &Path) -> Result<u64> {
    let minutes = |exercise: &exercises::Exercise| {
        let first = exercise.effort.split_whitespace().next();
        first.and_then(|minutes| minutes.parse::<u64>().ok()).with_context(|| {
            format!(
                "the exercise {} has `{}` instead of its minutes",
                exercise.id(),
                exercise.effort
            )
        })
    };
    let all = exercises::all(root)?;
    Ok(all.iter().map(minutes).sum::<Result<u64>>()?.div_ceil(60))
}

/// The placeholder for the hours that all chapters take until all pages are expanded.
pub const HOURS_MARK: &str = "<!-- hours -->";

/// The chapters with what they take, as a list. The minutes are marks (see [`minutes_mark`]), and directives
/// in the notes are left for the caller.
///
/// # Errors
/// If a chapter's page can't be read or its first screen has no note.
pub fn times(root: &Path, chapters: &[Chapter], up: &str) -> Result<String> {
    let mut out = String::new();
    for chapter in chapters {
        let page = Path::new(&chapter.folder()).join("README.md");
        let file = root.join("book/src").join(&page);
        let text = text::read(&file)?;
        let note = note(&text).with_context(|| {
            format!("{} has no `> [!NOTE]` before its first section", file.display())
        })?;
        let _ = writeln!(
            out,
            "- **[{}. {}]({up}{})**, {} minutes to read. {note}",
            chapter.number,
            html::text(chapter.title),
            page.display(),
            minutes_mark(&chapter.folder()),
        );
    }
    Ok(out)
}

/// The first paragraph of the note on a page's first screen, on one line. A sentence that leads to something
/// below it (`…:`) is left out.
fn note(page: &str) -> Option<String> {
    let screen = page.split("\n## ").next().unwrap_or(page);
    let quote = screen.lines().skip_while(|line| line.trim() != "> [!NOTE]").skip(1);
    let lines: Vec<&str> = quote
        .map_while(|line| line.strip_prefix('>'))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let mut text = lines.join(" ");
    if text.ends_with(':') {
        let end = text.rfind(". ").map_or(0, |at| at + 1);
        text.truncate(end);
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn chapter(number: u32, name: &'static str) -> Chapter {
        let title = "The title of one chapter";
        Chapter { number, name, title, experiments: vec![], figures: vec![], tables: vec![] }
    }

    /// 1 uses 0; 2 uses 0 and 1; 3 uses 1.
    fn course() -> (tempfile::TempDir, Vec<Chapter>) {
        let root = tempfile::tempdir().unwrap();
        let chapters = vec![chapter(0, "a"), chapter(1, "b_b"), chapter(2, "c"), chapter(3, "d")];
        for (folder, used) in [
            ("00-a", "serde = \"1\"\n"),
            ("01-b-b", "a.workspace = true\n\n[dev-dependencies]\nc.workspace = true\n"),
            ("02-c", "a.workspace = true\nb_b = { path = \"../01-b-b\" }\n"),
            ("03-d", "b_b.workspace = true\n"),
        ] {
            let at = root.path().join("chapters").join(folder);
            fs::create_dir_all(&at).unwrap();
            let text = format!("[package]\nname = \"x\"\n\n[dependencies]\n{used}");
            fs::write(at.join("Cargo.toml"), text).unwrap();
        }
        (root, chapters)
    }

    #[test]
    fn the_manifests_say_who_needs_whom() {
        let (root, chapters) = course();
        let all = needs(root.path(), &chapters).unwrap();
        assert_eq!(all[2], BTreeSet::from([0, 1]));
        let direct = direct(&all);
        assert_eq!(direct[2], BTreeSet::from([1]));
        assert_eq!(direct[1], BTreeSet::from([0]), "what only tests use is not needed");
        let places = places(&direct);
        assert_eq!(places.iter().map(|(_, row)| *row).collect::<Vec<_>>(), [0, 1, 2, 2]);
        assert!((places[2].0 - places[3].0).abs() > 0.99, "{places:?}");
    }

    #[test]
    fn each_chapter_is_a_link_and_says_what_it_needs() {
        let (root, chapters) = course();
        let drawn = svg(root.path(), &chapters, "../").unwrap();
        assert_eq!(drawn.matches("<a href=\"../").count(), 8, "a box and a line of the list");
        assert_eq!(drawn.matches("class=\"need\"").count(), 3);
        assert!(
            drawn.contains("Chapter 2, The title of one chapter&#58; it builds on 1<"),
            "{drawn}"
        );
        fs::remove_file(root.path().join("chapters/03-d/Cargo.toml")).unwrap();
        assert!(svg(root.path(), &chapters, "").unwrap_err().to_string().contains("03-d"));
    }

    #[test]
    fn what_a_chapter_takes_is_its_own_note() {
        let (root, mut chapters) = course();
        chapters.truncate(1);
        let page = root.path().join("book/src/00-a");
        fs::create_dir_all(&page).unwrap();
        let write = |text: &str| fs::write(page.join("README.md"), text).unwrap();
        write(
            "# A\n\nText.\n\n> [!NOTE]\n> You need nothing.\n> Run\n> this:\n>\n> ```\n> x\n> ```\n",
        );
        let list = times(root.path(), &chapters, "").unwrap();
        assert_eq!(
            list,
            "- **[0. The title of one chapter](00-a/README.md)**, <!-- minutes 00-a --> \
             minutes to read. You need nothing.\n"
        );
        write("# A\n\n## Later\n\n> [!NOTE]\n> Too late.\n");
        assert!(times(root.path(), &chapters, "").unwrap_err().to_string().contains("NOTE"));
    }
}
