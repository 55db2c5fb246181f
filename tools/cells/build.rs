//! Makes a function of each notebook: its cells in order, each in a block inside the block of the one before. So a later cell
//! sees what an earlier one defined, and may define it again, as in the notebook.

use serde_json::Value;
use std::{env, error::Error, fmt::Write as _, fs, path::Path};

#[path = "../bookbinder/src/notebook/made.rs"]
mod made;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../notebooks");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, Box<dyn Error>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ipynb"));
    files.sort();
    let mut out = String::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        // A notebook of the reader's, a copy or one that the reader has changed is tried by nobody but the reader.
        let notebook = fs::read_to_string(&file).unwrap_or_default();
        let notebook: Value = serde_json::from_str(&notebook).unwrap_or_default();
        if !made::is_made(&stem, &notebook) {
            continue;
        }
        let name = format!("cells_of_{}", stem.replace('-', "_"));
        let cells: Vec<String> =
            notebook["cells"].as_array().into_iter().flatten().filter_map(code).collect();
        let devices = cells.iter().any(|cell| cell.contains("gpu::"));
        let _ = writeln!(out, "#[test]\nfn run_{name}() {{\nrun({name}, {devices});\n}}");
        let _ = writeln!(
            out,
            "#[allow(warnings, clippy::all, clippy::pedantic)]\nfn {name}() -> Ended {{"
        );
        out.extend(cells.iter().map(|cell| format!("{{\n{cell}\n")));
        let _ = writeln!(out, "{}\nOk(())\n}}", "}".repeat(cells.len()));
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("cells.rs"), out)?;
    Ok(())
}

/// A cell that runs with the others and without an error, as statements.
fn code(cell: &Value) -> Option<String> {
    let apart = |tags: &Vec<Value>| tags.iter().any(|tag| tag != "hide-input");
    if cell["cell_type"] != "code" || cell["metadata"]["tags"].as_array().is_some_and(apart) {
        return None;
    }
    let source = made::joined(&cell["source"]);
    // A line for the kernel: `:dep`.
    let lines: Vec<&str> = source.lines().filter(|line| !line.starts_with(':')).collect();
    let source = lines.join("\n");
    // The value that a cell ends with is shown, and dropped here.
    let open = !source.trim_end().ends_with(['}', ';']);
    Some(if open { source + ";" } else { source })
}
