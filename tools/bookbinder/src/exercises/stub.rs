//! The reader's file, written out of an exercise's one source. The build script of the exercises' packages takes this file
//! too, so that an editor finds what it is to show before anything was run: it needs nothing but the standard library.

use std::{fs, io, path::Path};

/// The mark before what the solution has.
pub const BEGIN: &str = "// EXERCISE: begin";
/// The mark before what the reader begins with in its place, as comments.
pub const INSTEAD: &str = "// EXERCISE: instead";
/// The mark behind it.
pub const END: &str = "// EXERCISE: end";

/// Where a line of the source belongs.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// Outside the marks, or one of the marks that both files have.
    Both,
    /// What is solved.
    Solved,
    /// What the reader begins with, still a comment, with its indentation without it.
    Stub(usize),
}

/// The numbers of a source's lines, where they belong, and the lines; without [`INSTEAD`].
///
/// # Errors
/// If the marks are missing or do not follow one another, or what the reader begins with is no comment: with the line.
pub fn lines(source: &str) -> Result<Vec<(usize, Place, &str)>, String> {
    let (mut place, mut indent, mut lines) = (Place::Both, 0, Vec::new());
    for (number, line) in (1..).zip(source.lines()) {
        match (line.trim(), place) {
            (BEGIN, Place::Both) => {
                lines.push((number, place, line));
                indent = line.len() - line.trim_start().len();
                place = Place::Solved;
            }
            (INSTEAD, Place::Solved) => place = Place::Stub(indent),
            (END, Place::Stub(_)) => {
                place = Place::Both;
                lines.push((number, place, line));
            }
            (mark @ (BEGIN | INSTEAD | END), _) => {
                return Err(format!("line {number} has `{mark}` out of its turn"));
            }
            (line, Place::Stub(_)) if !line.starts_with("//") => {
                return Err(format!("line {number} is what a reader begins with, and no comment"));
            }
            _ => lines.push((number, place, line)),
        }
    }
    match place {
        Place::Both if source.contains(BEGIN) => Ok(lines),
        _ => Err(format!("it needs `{BEGIN}`, `{INSTEAD}` and `{END}`, in turn")),
    }
}

/// The reader's file as it begins.
///
/// # Errors
/// As [`lines`].
pub fn stub(source: &str) -> Result<String, String> {
    let mut stub = String::new();
    for (_, place, line) in lines(source)? {
        match place {
            Place::Both => stub += line,
            Place::Solved => continue,
            Place::Stub(indent) => {
                let code = line.trim_start();
                let code = code.strip_prefix("// ").or(code.strip_prefix("//")).unwrap_or(code);
                stub += &" ".repeat(if code.is_empty() { 0 } else { indent });
                stub += code;
            }
        }
        stub.push('\n');
    }
    Ok(stub)
}

/// Writes the reader's file of the exercise in `folder`, if there is none: what a reader has written is never touched.
///
/// # Errors
/// If a file can't be read or written, or the source has not its marks.
pub fn write_missing(folder: &Path) -> io::Result<()> {
    let (source, file) = (folder.join("solution.rs"), folder.join("exercise.rs"));
    let named = |error: io::Error, file: &Path| {
        io::Error::new(error.kind(), format!("{}: {error}", file.display()))
    };
    if file.exists() {
        return Ok(());
    }
    let text = fs::read_to_string(&source).map_err(|error| named(error, &source))?;
    let text = stub(&text).map_err(|why| named(io::Error::other(why), &source))?;
    // Whole or not at all, and where two do it at once, one of the two.
    let part = folder.join(format!(".exercise-{}.part", std::process::id()));
    fs::write(&part, text)
        .and_then(|()| fs::rename(&part, &file))
        .map_err(|error| named(error, &file))
}
