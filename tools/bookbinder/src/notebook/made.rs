//! How a notebook that the pages made is told from one that a reader has changed or copied: it keeps a digest of its name and
//! its cells. `tools/cells/build.rs` takes this file in, too.

use serde_json::Value;

/// Its name among a notebook's metadata.
pub const KEY: &str = "throughput";

/// Whether the pages made the notebook of this name, and nobody has changed a cell since. What cells printed does not count.
pub fn is_made(name: &str, notebook: &Value) -> bool {
    notebook["metadata"][KEY]["made"] == digest(name, notebook)
}

/// The digest of a notebook's name and of its cells' kinds, tags and sources.
pub fn digest(name: &str, notebook: &Value) -> String {
    let mut text = name.to_owned();
    for cell in notebook["cells"].as_array().into_iter().flatten() {
        let parts = [joined(&cell["cell_type"]), cell["metadata"]["tags"].to_string()];
        text += &format!("\0{}\0{}", parts.concat(), joined(&cell["source"]));
    }
    format!("{:016x}", hash(&text))
}

/// A notebook keeps text as a string or as a list of lines.
pub fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// FNV-1a: the same on every machine and in every version of Rust.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
